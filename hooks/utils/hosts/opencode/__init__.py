"""OpenCode as a host: its tools, its messages as entries, and the transcripts that the helper keeps of its sessions."""
