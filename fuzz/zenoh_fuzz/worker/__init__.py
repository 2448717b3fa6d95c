"""A worker: one oracle under Atheris in its own process."""
