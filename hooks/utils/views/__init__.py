"""The texts that people read: a report as data, then as lines of text in a given width. Data in, lines out: pure."""
