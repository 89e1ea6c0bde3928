"""Tell which checkouts may use the memory of a project, by its settings. Pure but for the proof that two are one.

The checkout in which memory was switched on (`root` of the settings) may use it, with its worktrees and those that the user let join.
"""

from __future__ import annotations

from ..errors import PopkitError
from ..io.codec import text_in_field, texts
from ..io.proof import are_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..io.repository import Repository

# Paths of checkouts that joined, and that are kept apart.
JOINED, APART = "joined", "apart"


class CheckoutNotJoined(PopkitError, OSError):
    """A folder that claims to belong to a project whose memory the user has not let it use."""

    def __init__(self, repository: Repository, begun_in: str) -> None:
        name, root, there = map(_printable, (repository.name, repository.claimed_by, begun_in))
        super().__init__(
            f"{root} says that it is a checkout of {name}, whose memory was switched on in {there}. Until you decide, it neither reads "
            "that memory nor adds to it. To share it: popkit memory admin join. To keep them apart: popkit memory admin join --no"
        )


def owner_of(settings: Mapping[str, Any]) -> str:
    """Return the checkout in which memory was switched on; "" where it never was: the first to do so owns it."""
    return text_in_field(settings, "root")


def is_owned_by(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Return whether memory was switched on in this checkout, in a worktree of the same repository, or nowhere yet."""
    root = owner_of(settings)
    return root in ("", repository.root, repository.claimed_by) or are_one(repository.claimed_by, root)


def may_use(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Return whether this checkout may read the memory and add to it."""
    return is_owned_by(settings, repository) or is_among(settings, JOINED, repository)


def is_among(settings: Mapping[str, Any], name: str, repository: Repository) -> bool:
    return any(are_one(repository.claimed_by, root) for root in texts(settings.get(name)))


def _printable(text: str) -> str:
    return "".join([char if char.isprintable() else "?" for char in text])
