"""Live nodes as witnesses of the codec: sessions recorded between them, their logs compared, effects of what we send."""
