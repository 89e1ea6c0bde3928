"""The name of the person whose machine this is."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def login_name(environ: Mapping[str, str]) -> str:
    """Return the login name."""
    import getpass

    named = next((environ[key] for key in ("LOGNAME", "USER", "USERNAME") if environ.get(key)), "")
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())
