"""What is known of a session: its live state, its journal, what is rebuilt from its transcript."""
