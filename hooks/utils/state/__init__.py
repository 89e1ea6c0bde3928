"""The state of a session: its live results, its journal, the rebuild from its transcript."""
