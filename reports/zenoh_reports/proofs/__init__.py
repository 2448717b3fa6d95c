"""Proofs: files from which a verdict can be derived again, and the program that does so."""
