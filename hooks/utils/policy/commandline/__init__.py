"""Read what a command line does and what its output shows. Pure."""
