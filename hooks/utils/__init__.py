"""The retention library: pure policy, I/O, what features are made of, views, operations, handlers."""


class PopkitError(Exception):
    """The base of all errors that PopKit raises itself; a message says what is wrong and, where something can be done, what to do."""
