"""A stock zenoh-rust node for tests: `python stock_node.py LOCATOR [PATH=JSON5 ...]`, run by the Python of the package.

It is configured as its users do it, by paths and values, and by nothing else: a router listens at LOCATOR, whatever else
connects to it, unless `listen/endpoints` or `connect/endpoints` is given with `{locator}` in it. It stays until it is ended.
"""

# Run inside the package's own environment.
# mypy: ignore-errors

import signal
import sys

import zenoh


def configured(locator, given):
    """The configuration that the arguments name."""
    values = dict(one.split("=", 1) for one in given)
    values = {"mode": '"router"', **values}
    listens = "router" in values["mode"]
    values = {"listen/endpoints" if listens else "connect/endpoints": f'["{locator}"]', **values}
    config = zenoh.Config()
    for path, value in values.items():
        config.insert_json5(path, value.replace("{locator}", locator))
    return config


if __name__ == "__main__":
    zenoh.try_init_log_from_env()
    with zenoh.open(configured(sys.argv[1], sys.argv[2:])):
        signal.pause()
