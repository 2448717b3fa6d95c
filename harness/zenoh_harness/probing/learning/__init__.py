"""The handshake of a target as an automaton: learned by asking, drawn, compared with our table and with another target's."""
