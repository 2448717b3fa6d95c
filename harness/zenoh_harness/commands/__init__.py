"""The subcommands of `zconform`: one module each, its click command in `command`; a leading underscore marks shared code."""
