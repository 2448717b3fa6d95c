"""How we talk: targets, links, scenes, the run, and the command line."""
