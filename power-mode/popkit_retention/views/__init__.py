"""What people read of memory, retention and the archive: plain values in, lines out. Pure."""
