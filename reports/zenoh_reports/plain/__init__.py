"""The tables in plain Python: what one process makes of a few files, and what Spark's stages are held equal to."""
