"""The node under test while it runs: its start and end, its health, what is known of it."""
