"""The retention library: pure policy, I/O, what features are made of, views, operations, handlers."""
