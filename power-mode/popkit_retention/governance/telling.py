"""Tells hooks what retention policies have let tools and the hourly job mark, so that the user sees it in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.utils.edges import failures
from hooks.utils.edges.home import popkit_home
from hooks.utils.state import marked

from .domains import USER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .domains import Domain


def tell(environ: Mapping[str, str], domain: Domain) -> None:
    """Rewrites what is told of a domain, after anything of it was marked, unmarked or deleted. That is done already, so what cannot be told
    of it fails nothing and stands in the log."""

    def marks() -> Iterator[tuple[str, str, str, float]]:
        theirs = {id: mark for id, mark in domain.marked().items() if mark.by != USER}
        described = domain.describe(list(theirs)) if theirs else {}
        for id, about in sorted(described.items()):
            yield about.project, theirs[id].by, id, theirs[id].due_at

    try:
        marked.replace(popkit_home(environ), domain.name, lambda: marked.rows_of(marks()))
    except OSError as error:
        failures.record(environ, "retention", error)
