"""Files to rows to tables in plain Python: for what one process can hold, and what Spark's stages are held equal to."""
