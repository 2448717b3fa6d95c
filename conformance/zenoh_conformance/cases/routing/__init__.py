"""Cases about a node that routes."""
