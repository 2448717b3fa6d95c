"""One module a reach kind: how a target of that kind is had."""
