"""The retention library: pure policy, edges that do I/O, handlers, answers and the command line."""
