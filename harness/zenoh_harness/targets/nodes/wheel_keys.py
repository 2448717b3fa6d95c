"""What the key-expression functions of the `eclipse-zenoh` package say, one text a line of input, as JSON.

Run inside the package's own environment, so it imports nothing of ours. Each answer is
`{"valid": bool, "canonical": text or null}`.
"""

# Released zenoh packages have no common types, and whatever they raise means no.
# ruff: noqa: ANN001, ANN201, BLE001, INP001
# mypy: ignore-errors

import json
import sys

import zenoh


def attempt(function, text):
    """The key expression as text; None when the package refuses it, or breaks (a panic is no Exception)."""
    try:
        return str(function(text))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


for line in sys.stdin:
    asked = json.loads(line)
    canonical = attempt(zenoh.KeyExpr.autocanonize, asked)
    print(json.dumps({"valid": attempt(zenoh.KeyExpr, asked) is not None, "canonical": canonical}))
