"""Claude Code: its payloads, transcripts and tools, as the engine takes them. Nothing here changes a file."""
