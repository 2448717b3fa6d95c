"""Cases in the groups of a node: its multicast group, and the group in which it is found by scouting."""
