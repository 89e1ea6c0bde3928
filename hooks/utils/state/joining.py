"""Which checkouts may use the memory of a project, by its settings: the one in which it was switched on (`root`), its worktrees, and those
that the user let join. What a folder says of itself gives it nothing."""

from __future__ import annotations

from ..io.repository import are_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..io.repository import Repository

# Paths of checkouts that joined, that are kept apart, and for which the user has been asked.
JOINED, APART, ASKED = "joined", "apart", "asked"
# Paths of checkouts whose sessions have taught the project: they may be gone.
CHECKOUTS = "checkouts"
_MOST_ASKED = _MOST_CHECKOUTS = 100


class NotJoined(OSError):
    """A folder that says it is of a project, and that nobody has let use the project's memory."""

    def __init__(self, repository: Repository, owner: str) -> None:
        name, root, there = map(_printable, (repository.name, repository.claimed_by, owner))
        super().__init__(
            f"{root} says that it is a checkout of {name}, whose memory was switched on in {there}. Until you decide, it neither reads "
            "that memory nor adds to it. To share it: popkit memory join. To keep them apart: popkit memory join --no"
        )


def owner(settings: Mapping[str, Any]) -> str:
    """Where memory was switched on; "" where it never was: whoever comes first has it."""
    root = settings.get("root")
    return root if isinstance(root, str) else ""


def is_owner(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Whether memory was switched on in this checkout or in a worktree of the same repository, or in none yet."""
    root = owner(settings)
    return root in ("", repository.root, repository.claimed_by) or are_one(repository.claimed_by, root)


def may_use(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Whether this checkout may read the memory and add to it."""
    return is_owner(settings, repository) or _is_among(settings, JOINED, repository)


def is_apart(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Whether the user keeps this checkout apart."""
    return _is_among(settings, APART, repository) and not is_owner(settings, repository)


def decided(settings: Mapping[str, Any], repository: Repository, joins: bool) -> dict[str, Any]:
    """The settings once this checkout has joined, or is kept apart."""
    mine = repository.claimed_by
    kept = {name: [root for root in _texts(settings, name) if not are_one(mine, root)] for name in (JOINED, APART)}
    kept[JOINED if joins else APART].append(mine)
    return {**settings, **kept}


def was_asked(settings: Mapping[str, Any], repository: Repository) -> bool:
    """Whether the user has been asked about this checkout."""
    return repository.claimed_by in _texts(settings, ASKED)


def asked(settings: Mapping[str, Any], repository: Repository) -> dict[str, Any]:
    """The settings once the user has been asked."""
    return {**settings, ASKED: [*_texts(settings, ASKED), repository.claimed_by][-_MOST_ASKED:]}


def checkouts(settings: Mapping[str, Any]) -> list[str]:
    """Return the checkouts whose sessions have taught the project."""
    return _texts(settings, CHECKOUTS)


def noted(settings: Mapping[str, Any], repository: Repository) -> dict[str, Any]:
    """Return the settings once sessions of this checkout have taught the project."""
    known = checkouts(settings)
    if repository.root in (*known, owner(settings)):
        return dict(settings)
    return {**settings, CHECKOUTS: [*known, repository.root][-_MOST_CHECKOUTS:]}


def _is_among(settings: Mapping[str, Any], name: str, repository: Repository) -> bool:
    return any(are_one(repository.claimed_by, root) for root in _texts(settings, name))


def _texts(settings: Mapping[str, Any], name: str) -> list[str]:
    value = settings.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _printable(text: str) -> str:
    return "".join([char if char.isprintable() else "?" for char in text])
