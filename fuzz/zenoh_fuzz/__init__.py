"""What we missed: oracles, mutators, campaigns and triage."""
