"""Pure decisions: no clock, no disk, no randomness, no environment."""
