"""How a target behaves, learnt before it is judged: what is its habit is no fault, and what it is waited for follows from it."""

from zenoh_harness.habits.model import UNKNOWN, End, Habits, Return, habits_of

__all__ = ["UNKNOWN", "End", "Habits", "Return", "habits_of"]
