"""To speak with a node: dialogues over one link, parties around a router, the scene that holds them."""
