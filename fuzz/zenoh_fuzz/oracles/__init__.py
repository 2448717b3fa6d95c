"""Oracles: one file each, with `one_input(data)` that raises AssertionError when what it guards is broken."""
