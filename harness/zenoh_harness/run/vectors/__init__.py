"""Golden vectors against a codec target or a whole node."""
