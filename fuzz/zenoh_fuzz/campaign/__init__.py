"""Workers, corpus and ledger of one campaign."""
