"""What is judged: targets, how each is reached and started."""
