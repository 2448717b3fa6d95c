"""What a target is and can do: the probe, the smoke test, the learner."""
