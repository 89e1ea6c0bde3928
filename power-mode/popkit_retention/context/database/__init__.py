"""Snapshots, usage and budgets, in SQLite or PostgreSQL."""
