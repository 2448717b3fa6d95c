"""Readers, writers and JSON schemas of every file that one package or command writes and another reads.

Nothing here opens a socket: `zenoh_reports` imports this folder of the harness and no other.
"""
