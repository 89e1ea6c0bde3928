"""Read the actions and the output of a command line. Pure."""
