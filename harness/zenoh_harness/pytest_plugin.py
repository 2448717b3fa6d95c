"""What `pip install zenoh-conformance` brings to a user's own pytest."""
