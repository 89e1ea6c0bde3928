"""Work on many sessions at once."""
