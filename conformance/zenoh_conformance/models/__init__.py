"""Stateful models: Hypothesis machines over the session tables."""
