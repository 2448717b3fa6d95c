"""Cases toward a responder: INIT and OPEN."""
