"""Study how a target behaves before it is judged: its habits are no faults, and they set the waiting times of the run."""
