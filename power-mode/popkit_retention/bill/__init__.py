"""What sessions cost and why: read from the transcripts of the host, remembered per session."""
