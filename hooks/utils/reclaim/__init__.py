"""Reclaim room in a context: placeholders, the surgery on transcripts, the operations made of both."""
