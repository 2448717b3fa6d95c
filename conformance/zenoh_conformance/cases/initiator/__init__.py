"""Cases toward an initiator: INIT and OPEN."""
