"""The retention library: pure policy, edges that do I/O, what features are made of, views, operations, handlers."""
