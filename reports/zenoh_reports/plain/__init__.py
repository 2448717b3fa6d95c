"""Results files to rows in plain Python: for one run and for tens of them, without Spark."""
