"""Cases about the target's own application, through its agent."""
