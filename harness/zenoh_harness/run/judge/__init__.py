"""From attempts to verdicts."""
