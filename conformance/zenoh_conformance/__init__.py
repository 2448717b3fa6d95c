"""What must hold: wire types, messages, session tables, requirements, laws, cases and models of the Zenoh protocol."""

from . import _moved

_moved.install()
