"""The names of checks and of judgements in one line, as plans, reports and `--only` write them."""

from __future__ import annotations

from collections.abc import Sequence

from zenoh_conformance.judging.verdict import Key


def label(key: Key) -> str:
    """A judgement's place in the plan: role, profile, check and parameters in one line."""
    return f"{key.role} {key.profile} {check_label(key.check, key.parameters)}"


def check_label(check: str, parameters: Sequence[tuple[str, str]] = ()) -> str:
    """`establishment/refuses-a-bit[bit=3]`: a check with its parameters, as `--only` takes it."""
    return f"{check}[{','.join(f'{name}={value}' for name, value in parameters)}]" if parameters else check
