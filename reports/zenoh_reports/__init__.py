"""What we found: the Spark pipeline and the pages."""
