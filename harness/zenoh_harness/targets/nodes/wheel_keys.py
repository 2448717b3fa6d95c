"""What the key-expression functions of the `eclipse-zenoh` package say, one text a line of input, as JSON.

Run inside the package's own environment, so it imports nothing of ours. Each answer is
`{"valid": bool, "canonical": text or null, "panic": text or null}`.
"""

# Released zenoh packages have no common types, and whatever they raise means no.
# ruff: noqa: ANN001, ANN201, BLE001, INP001
# mypy: ignore-errors

import json
import sys

import zenoh


def attempt(function, text):
    """The key expression as text, None when the package refuses it; and how it broke, None when it did not."""
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
