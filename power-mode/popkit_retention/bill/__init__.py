"""The costs of sessions and their causes: read from the host's transcripts, stored per session."""
