"""Live campaigns: fuzz whole nodes in sessions. An input is a script; health, bystanders and laws judge the target."""
