"""Cases about a live session: batches, fragments, lanes, leases, CLOSE."""
