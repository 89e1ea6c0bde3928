"""What people read: a report as data, then text of at most 76 columns."""
