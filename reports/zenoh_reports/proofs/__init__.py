"""Verdicts that carry their proof: one file each, and the program that judges it again."""
