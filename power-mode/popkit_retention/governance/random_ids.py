"""The random part of the ids that governance gives out."""

from __future__ import annotations

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # without those that are read as others


def random_letters() -> str:
    """Return the six random letters and digits that the id of a hold, a request or an archive ends with."""
    import secrets  # seldom, and it loads much

    return "".join(secrets.choice(_LETTERS) for _ in range(6))
