"""Writes the golden vectors: bytes assembled by hand from the tables, never by a codec that they shall judge.

Each module holds the vectors of one message family.  `python -m zenoh_vectors.build` rewrites `data/`, and
`--check` says what would change.
"""
