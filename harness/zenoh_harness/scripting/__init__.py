"""Scripts at work: written from what was recorded, bound to a target and replayed."""
