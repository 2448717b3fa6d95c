"""Turn a raw finding into a minimal and explained one, and into a vector or a test."""
