"""OpenCode: what `opencode export` writes of a session, as the engine takes it."""
