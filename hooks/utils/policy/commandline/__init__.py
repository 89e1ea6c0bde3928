"""Read the actions of a command line from its words. Pure."""
