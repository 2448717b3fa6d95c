"""One case, once: its scene and links, its slot, its conversation."""
