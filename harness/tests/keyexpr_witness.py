"""Runs in the wheel's own environment: where our key expressions and the wheel's differ, as JSON.

python keyexpr_witness.py LONGEST_STRING LONGEST_PAIR
"""

from __future__ import annotations

import itertools
import json
import sys

import zenoh

from zenoh_conformance.primitives import keyexpr

ALPHABET = "ab/*$@"


def strings(longest: int) -> list[str]:
    return ["".join(letters) for size in range(1, longest + 1) for letters in itertools.product(ALPHABET, repeat=size)]


def valid(text: str) -> bool:
    try:
        zenoh.KeyExpr(text)
    except zenoh.ZError:
        return False
    return True


def main(longest_string: int, longest_pair: int) -> dict[str, object]:
    texts = strings(longest_string)
    differ = [text for text in texts if valid(text) != keyexpr.is_canonical(text)]
    keys = {text: zenoh.KeyExpr(text) for text in strings(longest_pair) if keyexpr.is_canonical(text)}
    pairs = list(itertools.product(keys, repeat=2))
    meet = [pair for pair in pairs if keys[pair[0]].intersects(keys[pair[1]]) != keyexpr.intersects(*pair)]
    hold = [pair for pair in pairs if keys[pair[0]].includes(keys[pair[1]]) != keyexpr.includes(*pair)]
    return {"strings": len(texts), "pairs": len(pairs), "validity": differ, "intersects": meet, "includes": hold}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
