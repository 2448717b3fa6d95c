"""Cases about INTEREST and its snapshots."""
