"""The run: what is judged, in which order, on which instance, and what is written of it."""
