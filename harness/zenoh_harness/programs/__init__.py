"""What we start, and end: processes, their supervisor, environments."""
