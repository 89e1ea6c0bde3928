"""The host's formats: hook payloads, tool results, transcripts, usage. Nothing here changes a file."""
