"""The gate: one run held against one list of known deviations, told in one screen, and the list kept up to date."""
