"""Retention policies of stored data: what may be deleted when, what is held, what was done and by whom."""
