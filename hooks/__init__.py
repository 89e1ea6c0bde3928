"""PopKit retention: every tool result gets a lifetime. Standard library only."""
