"""Assembled prompts: what of a conversation, of memory and of files a request carries, by budget."""
