"""What foreign nodes and codecs witness of our reading."""
