"""Drawings: geometry in Python, shapes in templates; charts from a plotting library, as SVG without styles of its own."""
