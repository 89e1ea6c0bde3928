"""What sessions cost and why: read from the host's transcripts, stored per session."""
