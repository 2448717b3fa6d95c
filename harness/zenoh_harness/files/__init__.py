"""Readers, writers and schemas of every file that crosses rooms.

No sockets here: reports import this part of the harness and no other.
"""
