"""What a run keeps beside its results: its folder, its journal, findings under embargo."""
