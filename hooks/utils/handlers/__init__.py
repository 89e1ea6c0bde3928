"""One handler per hook entry script."""
