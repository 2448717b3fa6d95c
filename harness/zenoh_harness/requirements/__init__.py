"""Coverage of requirements: the checks that judge each, and what no check covers."""
