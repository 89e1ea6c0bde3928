"""Note the messages that a person is shown only once."""

from __future__ import annotations

from ..io import files, home
from ..io.system import join, os, parent_of


def is_news(popkit_home: str, name: str) -> bool:
    """Return whether this is the first time that a person is told of something."""
    path = join(popkit_home, "cache", "told-" + home.safe_name(name))
    try:
        files.make_private_folder(parent_of(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False  # told already; or it cannot be noted, and would be told in each session
    return True
