"""What people read: a report as data, then text of at most so many columns. Data in, lines out: pure."""
