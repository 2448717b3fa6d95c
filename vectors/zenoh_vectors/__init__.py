"""Which bytes: golden vectors as data, their schema and loader."""
