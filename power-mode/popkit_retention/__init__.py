"""PopKit's services: what needs more than the standard library. Imports `hooks.utils`, never the other way."""
