"""Session and query life cycles as state tables."""
