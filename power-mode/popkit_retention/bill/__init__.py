"""The costs of sessions with their causes, read from the host's transcripts, stored per session."""
