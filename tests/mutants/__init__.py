"""The code broken in small ways, one at a time, to see which tests notice."""
