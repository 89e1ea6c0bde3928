"""Read transcripts: the one form in which the sessions of all hosts are read, which is that of Claude Code (docs/design/recordings.md)."""
