"""The oracles, one module each; each holds a subclass of `Oracle` as `ORACLE`."""
