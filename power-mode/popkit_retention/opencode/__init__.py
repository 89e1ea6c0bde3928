"""PopKit in OpenCode: its plugin in the configuration of that host."""
