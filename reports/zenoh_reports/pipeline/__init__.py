"""Spark steps: data frames in, data frames out."""
