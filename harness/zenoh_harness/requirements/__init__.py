"""What judges which requirement, and what is still uncovered."""
