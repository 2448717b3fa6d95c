"""Cases about RESPONSE."""
