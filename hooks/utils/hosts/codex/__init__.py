"""Codex: what it has recorded, as the engine takes it. Its sessions are read, never changed."""
