"""What somebody deletes by hand, past all policies, is logged like everything else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import telling
from .collection import DELETE, finish_delete

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .site import Site


@contextmanager
def logged(site: Site, domain: str, ids: Sequence[str], **told: object) -> Iterator[None]:
    """Logs which of these the block deletes, before (`deleting`) and after (`deleted`), while no other process governs; `told` says how.
    What has no content any more is left out."""
    holder, now = site.domain(domain), site.now()
    with site.changing() as log:
        there = [each.id for each in holder.resources(now, ids=ids)]
        if not there:
            yield
            return
        entry = log.append("deleting", domain, there, told, site.by, now, {"do": DELETE, "ids": there})
        yield
        finish_delete(site.folder, holder, log, entry, now)
    telling.tell(site.environ, holder)
