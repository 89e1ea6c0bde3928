"""Everything that touches the world: files, git, the host's payloads and transcripts."""
