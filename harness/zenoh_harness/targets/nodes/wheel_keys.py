"""Apply the key-expression functions of the `eclipse-zenoh` package to JSON strings, one a line of input.

It runs in the environment of the package, where the harness is not installed, so it imports nothing of it. Each answer is
`{"valid": bool, "canonical": text or null, "panic": text or null}`.
"""

# The releases of the zenoh package have different types, and any exception means that the key expression is refused.
# ruff: noqa: ANN001, ANN201, BLE001, INP001
# mypy: ignore-errors

import json
import sys

import zenoh


def attempt(function, text):
    """Return the key expression as text, or None if the package refuses it; and the panic as text, or None."""
    try:
        return str(function(text)), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception:
        return None, None
    except BaseException as panic:  # a Rust panic is no Exception
        return None, f"{type(panic).__name__}: {panic}"


for line in sys.stdin:
    asked = json.loads(line)
    canonical, first = attempt(zenoh.KeyExpr.autocanonize, asked)
    valid, second = attempt(zenoh.KeyExpr, asked)
    print(json.dumps({"valid": valid is not None, "canonical": canonical, "panic": first or second}))
