"""Learn the handshake of a target as an automaton, draw it, and compare it with our table and with another target."""
