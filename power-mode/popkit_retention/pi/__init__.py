"""PopKit in pi: its extension in the settings of that host."""
