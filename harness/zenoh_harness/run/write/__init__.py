"""What goes into the results file, and going on with one that ended early."""
