"""The gate: compare one run with one list of known deviations, report the result, and update the list."""
