"""The labels of checks and of judgements, as plans, reports and `--only` write them."""

from __future__ import annotations

from collections.abc import Sequence

from zenoh_conformance.judging.verdict import Key


def label(key: Key) -> str:
    """Return the label of a judgement in the plan: `ROLE PROFILE CHECK[PARAMETERS]`."""
    return f"{key.role} {key.profile} {check_label(key.check, key.parameters)}"


def check_label(check: str, parameters: Sequence[tuple[str, str]] = ()) -> str:
    """Return a check with its parameters, as `--only` takes it: `establishment/refuses-a-bit[bit=3]`."""
    return f"{check}[{','.join(f'{name}={value}' for name, value in parameters)}]" if parameters else check


def shard_label(shard: str) -> str:
    """Return the label that stands for all checks of a missing shard: `shard 2/3`."""
    return f"shard {shard}"


def is_shard(label: str) -> bool:
    """Whether a label of what is pending stands for a missing shard."""
    return label.startswith("shard ")
