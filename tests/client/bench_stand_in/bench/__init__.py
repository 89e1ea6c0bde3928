"""A stand-in for the part of code-compression-bench that an arm meets."""
