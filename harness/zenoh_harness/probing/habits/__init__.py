"""How a target behaves, learnt before it is judged: what is its habit is no fault, and what it is waited for follows from it."""
