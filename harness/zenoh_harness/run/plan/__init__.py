"""What a run means to do: its cases in order, and the time that it may take."""
