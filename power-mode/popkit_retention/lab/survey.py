"""Scores many sessions under many policies: the cost, the tokens carried and the misses of each. Reads only.

A session is read by one process, scored under every policy and forgotten; only a row of numbers is kept of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from ..parallel.results import Skipped, Where, results
from ..parallel.sources import find
from . import card, sessions
from .checked import Failed
from .loading import Unusable
from .policies import POLICIES, described, models, prices_for, score
from .totals import COUNTS, Total, drawn

SCHEMA = 1
LEAST_REQUESTS = 5


class Table(Protocol):
    """Where each row goes beside the sums."""

    def take(self, row: dict[str, Any]) -> object:
        """Add a session, as `row_of` returns it."""

    def skip(self, path: str, reason: str) -> object:
        """Add one that was left out."""


# --- one session -----------------------------------------------------------------------------------------------------------------


def repository_of(path: str) -> str:
    """Return the repository of a session: the part before "__" of the file's name, else the project's folder."""
    folder, name = os.path.split(os.path.abspath(path))
    if "__" in name:
        return name.partition("__")[0]
    if os.path.basename(folder) == "subagents":  # <project>/<session>/subagents/agent-<id>.jsonl
        folder = os.path.dirname(os.path.dirname(folder))
    return os.path.basename(folder) or folder


def row_of(path: str, names: list[str], ttls: list[float], model: str = "") -> dict[str, Any]:
    """Return the numbers of one session: `scores` is {lifetime: {policy: {"cost", "carried", counts}}} with "nothing" among the policies,
    `curves` the prompt tokens of each request under two of them, for the first lifetime, `failed` {policy of somebody's own: why it failed
    here}, whose numbers are then those of clearing nothing. Skipped when there is nothing to count; OSError when it cannot be read."""
    session = sessions.read(path)
    if not session.requests:
        raise Skipped("no conversation")
    if len(session.requests) < LEAST_REQUESTS:
        raise Skipped(f"under {LEAST_REQUESTS} requests")
    scores: dict[float, dict[str, dict[str, float]]] = {}
    curves: dict[str, list[int]] = {}
    failed: dict[str, str] = {}
    for ttl_s in ttls:
        scores[ttl_s] = {}
        prices = prices_for(session, ttl_s, model)
        for name in names:
            try:
                total = score(name, session, prices)
            except (Failed, Unusable) as why:
                total, failed[name] = score("nothing", session, prices), str(why)
            scores[ttl_s][name] = {"cost": total.cost, "carried": total.carried, **{key: getattr(total, key) for key in COUNTS}}
            if ttl_s == ttls[0] and name in ("nothing", drawn(names)):
                curves[name] = total.curve
    counts = {"requests": len(session.requests), "bytes": session.size, "bad_lines": session.bad, "model": session.model}
    repository = session.cwd if session.is_translated and session.cwd else repository_of(path)  # other hosts sort by day, or not at all
    named = {"path": path, "repository": repository, "digest": card.digest_of(path)}
    return {**named, **counts, "scores": scores, "curves": curves, "failed": failed}


# --- all of them -----------------------------------------------------------------------------------------------------------------


def survey(
    paths: Sequence[str],
    policies: Iterable[str] | None = None,
    ttls: Iterable[float] = (300, 3_600),
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    model: str = "",
    scheduler: str = "",
    table: Table | None = None,
) -> dict[str, Any]:
    """Score the sessions below some paths or addresses under policies (names; all that ship by default; "nothing" is always there);
    loading.Unusable.

    `jobs`: processes (one for each processor by default) · `progress(bytes done, of all)` is called after each file · `model`: at whose
    prices, "" for the one that answered each session · `scheduler`: address of that of a Dask cluster, which works in place of processes ·
    `table` is given every row, and what was left out.
    """
    names = ["nothing", *[name for name in (POLICIES if policies is None else policies) if name != "nothing"]]
    descriptions = {name: described(name) for name in names}
    total = Total(names, list(ttls))

    def skip(path: str, reason: str) -> None:
        total.skip(path, reason)
        if table is not None:
            table.skip(path, reason)

    found = find(paths, skip)
    whole, done = sum(source.size for source in found), 0
    begun = time.monotonic()
    task = partial(row_of, names=names, ttls=total.ttls, model=model)
    for source, row, reason in results(task, found, Where(jobs, scheduler)):
        if row is None:
            skip(source.address, reason)
        else:
            row["path"] = source.address
            total.take(row)
            if table is not None:
                table.take(row)
        done += source.size
        if progress:
            progress(done, whole)
    return {
        "schema": SCHEMA,
        **total.result(),
        "model": model,
        "known": models().model(model).known,
        "dated": models().dated,
        "descriptions": descriptions,
        "seconds": round(time.monotonic() - begun, 1),
    }
