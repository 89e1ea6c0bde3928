"""Measure policies by replaying past sessions."""
