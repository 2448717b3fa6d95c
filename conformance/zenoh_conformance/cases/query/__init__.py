"""Cases about REQUEST."""
