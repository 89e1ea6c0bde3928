"""The ids of resources, of which a person may give the first characters."""

from __future__ import annotations

from .errors import ResourceNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .domains import Domain


def find_id(domains: Sequence[Domain], word: str, project: str | None = None) -> tuple[Domain, str]:
    """Return the one id that a word means, with its domain; ResourceNotFound for none, or several."""
    matches = [(domain, id) for domain in domains for id in (domain.matching_ids(word, project) if word.isprintable() else ())]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ResourceNotFound(f"{word!r:.60} could be {', '.join(id for _, id in matches)}. Give more of the id")
    names = " or ".join(domain.name for domain in domains)
    raise ResourceNotFound(f"there is no {word!r:.60} in {names}. `popkit memory list` and `popkit restore list` show the ids")
