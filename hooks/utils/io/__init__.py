"""The I/O seam: private files, our folder, git, the hook runner. Knows nothing of retention."""
