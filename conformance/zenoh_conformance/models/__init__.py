"""Stateful models: Hypothesis machines over the session tables."""

from __future__ import annotations

from typing import Final

STEPS: Final = 8
"""The most steps of one run: laws speak at its end, so that a counterexample of theirs has all of them."""
