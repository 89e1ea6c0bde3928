"""Vectors of items, kept beside a store of items."""
