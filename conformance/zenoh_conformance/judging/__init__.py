"""To judge a conversation: laws, findings, verdicts, and the same laws held against our own side."""
