"""Clients that build the context of each call."""
