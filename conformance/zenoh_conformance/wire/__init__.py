"""The engine: wire types, declarations, and the functions that are made from them once a class."""
