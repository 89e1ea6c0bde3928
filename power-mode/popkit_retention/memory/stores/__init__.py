"""Stores of items, a module for each."""
