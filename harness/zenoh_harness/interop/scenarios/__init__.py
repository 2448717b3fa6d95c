"""What two nodes must bring about together, one topic a file."""
