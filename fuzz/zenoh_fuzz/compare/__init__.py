"""Two codecs side by side: targets, differences, tolerances."""
