"""The retention library: pure policy, edges that do I/O, handlers and answers."""
