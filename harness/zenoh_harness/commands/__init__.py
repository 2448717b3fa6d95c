"""The subcommands of `zconform`: a module each, its click command in `command`; a leading underscore hides a module."""
