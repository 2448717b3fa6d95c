"""`python -m zenoh_harness.reference`: `zconform peer` without the rest of the command line, so that it starts fast."""

from zenoh_harness.commands.peer import command

if __name__ == "__main__":
    command()
