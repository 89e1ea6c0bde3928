"""Score many sessions under many policies. Reads only.

A session is read by one process, scored under every policy and forgotten; only a row of numbers is kept. The sums are means over
repositories and pooled counts. The same code, sessions and prices give the same digits, whatever the order, the machine, the paths or the
number of processes: costs are added as whole numbers of the smallest part of a unit in a row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from popkit_retention.core.io import repository
from popkit_retention.core.policy.ruleset import AUTO_MISSES

from ..parallel.attempts import SessionSkipped
from ..parallel.results import Workplace, results
from ..parallel.sources import find, why_nothing
from . import sent_requests
from .checked_policies import PolicyFailed
from .measure import DEARER
from .own_policies import PolicyUnusable
from .recorded import was_changed
from .replay_policies import NOTHING, POLICIES, USUAL, Known, described, has_price, models, prices_for, score
from .survey_card import digest_of

SCHEMA = 1
LEAST_REQUESTS = 5
# Only sessions of at least this many requests are checked for whether their look-ups keep within the bound.
BOUND_REQUESTS = 100
SHORT, CHANGED = f"under {LEAST_REQUESTS} requests", "changed by PopKit: popkit stats has what that saved"
_PARTS = 1_000_000  # parts of a unit, in which costs are added
_FILES_NAMED = 50  # at most, of the files that were left out


class PolicyScore(NamedTuple):
    """The numbers of one session under one policy, as `measure.Score` has them."""

    cost: float
    carried: int
    results: int
    results_tokens: int
    cleared: int
    cleared_tokens: int
    missed: int
    missed_tokens: int
    look_ups: int


COUNTS = PolicyScore._fields[2:]


class SessionScores(NamedTuple):
    """The numbers of one session: its `scores`, lifetime of the cache -> policy -> PolicyScore, with "nothing" among the policies, and the
    users' own policies that `failed`, each with the reason; their numbers are then those of clearing nothing."""

    path: str
    repository: str
    digest: str
    model: str
    requests: int
    bytes: int
    bad_lines: int
    scores: dict[float, dict[str, PolicyScore]]
    failed: dict[str, str]


class Table(Protocol):
    """A table for the rows beside the sums."""

    def take(self, row: SessionScores) -> object:
        """Add a session."""

    def skip(self, path: str, reason: str) -> object:
        """Add a file that was left out."""


def repository_of(path: str, cwd: str = "") -> str:
    """Return the repository of a session: the part before "__" of the file's name, else the name of the repository that the folder where it
    began belongs to, whichever of its worktrees that is, else the project's folder."""
    folder, name = os.path.split(os.path.abspath(path))
    if "__" in name:
        return name.partition("__")[0]
    if cwd:
        return repository.of(cwd).name.lower()
    if os.path.basename(folder) == "subagents":  # <project>/<session>/subagents/agent-<id>.jsonl
        folder = os.path.dirname(os.path.dirname(folder))
    return os.path.basename(folder) or folder


def row_of(path: str, names: list[str], ttls: list[float], model: str = "", known: Known = POLICIES) -> SessionScores:
    """Return the numbers of one session. SessionSkipped when there is nothing to count; OSError when it cannot be read."""
    session = sent_requests.read(path)
    if not session.requests:
        raise SessionSkipped(why_nothing(path))
    if len(session.requests) < LEAST_REQUESTS:
        raise SessionSkipped(SHORT)
    if not has_price(model or session.model):
        raise SessionSkipped(f"no price is known of {model or session.model or 'its model'}")
    if was_changed(session):
        raise SessionSkipped(CHANGED)
    scores: dict[float, dict[str, PolicyScore]] = {}
    failed: dict[str, str] = {}
    for ttl_s in ttls:
        scores[ttl_s] = {}
        prices = prices_for(session, ttl_s, model)
        for name in names:
            try:
                total = score(name, session, prices, known)
            except (PolicyFailed, PolicyUnusable) as why:
                total, failed[name] = score("nothing", session, prices), str(why)
            scores[ttl_s][name] = PolicyScore(*(getattr(total, name) for name in PolicyScore._fields))
    return SessionScores(
        path=path,
        repository=repository_of(path, session.cwd),
        digest=digest_of(path),
        model=session.model,
        requests=len(session.requests),
        bytes=session.size,
        bad_lines=session.bad,
        scores=scores,
        failed=failed,
    )


def survey(
    paths: Sequence[str],
    policies: Iterable[str] | None = None,
    ttls: Iterable[float] = (300, 3_600),
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    model: str = "",
    scheduler: str = "",
    table: Table | None = None,
    known: Known = POLICIES,
    row_of: Callable[..., SessionScores] = row_of,
) -> dict[str, object]:
    """Score the sessions below some paths or addresses under policies (names; USUAL by default; "nothing" is always added); PolicyUnusable.

    `jobs`: processes (one for each processor by default) · `progress(bytes done, of all)` is called after each file · `model`: at whose
    prices, "" for the one that answered each session · `scheduler`: address of a Dask cluster's, which works in place of processes ·
    `table` receives every row, and the files that were left out · `known`: all policies that may be named, with a `row_of` that knows them.
    """
    wanted = list(dict.fromkeys(USUAL if policies is None else policies))
    names = wanted if NOTHING in wanted else [NOTHING, *wanted]
    descriptions = {name: described(name, known) for name in names}
    total = Total(names, list(ttls))

    def skip(path: str, reason: str) -> None:
        total.skip(path, reason)
        if table is not None:
            table.skip(path, reason)

    sources = find(paths, skip)
    whole, done = sum(source.size for source in sources), 0
    begun = time.monotonic()
    if progress and whole:
        progress(0, whole)
    task = partial(row_of, names=names, ttls=total.ttls, model=model)
    for source, row, reason in results(task, sources, Workplace(jobs, scheduler)):
        if row is None:
            skip(source.address, reason)
        else:
            row = row._replace(path=source.address)
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
        "dated": models().dated,
        "descriptions": descriptions,
        "seconds": round(time.monotonic() - begun, 1),
    }


class Total:
    """Sums over sessions, the same in whatever order they come; rows hold cost and carried relative to clearing nothing."""

    def __init__(self, names: list[str], ttls: list[float]):
        self.names = names
        self.ttls = ttls
        self.skipped: dict[str, int] = {}  # reason -> files
        self.skipped_files: list[list[str]] = []
        self.rows: list[dict[str, Any]] = []
        self.requests = self.bytes = 0
        self.sums: dict[tuple[float, str, str], list[int]] = {}  # (lifetime, repository, policy) -> [parts of cost, carried]
        self.pooled = {(ttl_s, name): dict.fromkeys((*COUNTS, "dearer", "within"), 0) for ttl_s in ttls for name in names}
        self.models: dict[str, int] = {}  # id -> sessions that it answered
        self.failed: dict[str, dict[str, int]] = {}  # policy -> why it failed -> sessions

    def skip(self, path: str, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self.skipped_files.append([path, reason])
        if len(self.skipped_files) > 2 * _FILES_NAMED:
            self.skipped_files = sorted(self.skipped_files)[:_FILES_NAMED]

    def take(self, row: SessionScores) -> None:
        """Add a session."""
        self.requests += row.requests
        self.bytes += row.bytes
        self.models[row.model] = self.models.get(row.model, 0) + 1
        for name, why in row.failed.items():
            reasons = self.failed.setdefault(name, {})
            reasons[why] = reasons.get(why, 0) + 1
        lifetimes = {}
        for ttl_s, scores in row.scores.items():
            base = scores["nothing"]
            ratios = {}
            for name in self.names:
                score = scores[name]
                sums = self.sums.setdefault((ttl_s, row.repository, name), [0, 0])
                sums[0] += round(_PARTS * score.cost)
                sums[1] += score.carried
                pooled = self.pooled[ttl_s, name]
                pooled["dearer"] += score.cost > DEARER * base.cost
                pooled["within"] += row.requests >= BOUND_REQUESTS and score.look_ups <= AUTO_MISSES * row.requests / 100
                for key in COUNTS:
                    pooled[key] += getattr(score, key)
                ratio = [round(score.cost / base.cost, 4), round(score.carried / base.carried, 4)]
                ratios[name] = [*ratio, score.cleared, score.cleared_tokens, score.missed, score.look_ups]
            lifetimes[str(ttl_s)] = {"base_cost": round(base.cost), "results": base.results, "policies": ratios}
        named = {key: getattr(row, key) for key in ("path", "repository", "digest", "requests", "failed")}
        self.rows.append({**named, "ttls": lifetimes})

    def result(self) -> dict[str, object]:
        """Return the sums as plain values. A row's policies: [cost, carried, results cleared, their tokens, results missed, look-ups]."""
        repositories = sorted({row["repository"] for row in self.rows})
        counts = {"sessions": len(self.rows), "repositories": len(repositories), "requests": self.requests, "bytes": self.bytes}
        lifetimes = {str(ttl_s): {name: self._policy(ttl_s, name, repositories) for name in self.names} for ttl_s in self.ttls}
        return {
            **counts,
            "skipped": dict(sorted(self.skipped.items())),
            "skipped_files": sorted(self.skipped_files)[:_FILES_NAMED],
            "failed": {name: dict(sorted(reasons.items())) for name, reasons in sorted(self.failed.items())},
            "ttls": lifetimes if self.rows else {},
            "rows": sorted(self.rows, key=lambda row: row["path"]),
            "models": dict(sorted(self.models.items(), key=lambda count: (-count[1], count[0]))),
        }

    def _policy(self, ttl_s: float, name: str, repositories: list[str]) -> dict[str, float | None]:
        pooled = self.pooled[ttl_s, name]
        pairs = [(self.sums[ttl_s, repository, name], self.sums[ttl_s, repository, "nothing"]) for repository in repositories]
        long = sum(row["requests"] >= BOUND_REQUESTS for row in self.rows)
        means = [_share(sum(scored[at] / base[at] for scored, base in pairs), len(pairs)) for at in (0, 1)]
        return {
            "cost": means[0],
            "carried": means[1],
            "misses_per_100": _share(100 * pooled["missed"], self.requests),
            "look_ups_per_100": _share(100 * pooled["look_ups"], self.requests),
            "within_bound": _share(pooled["within"], long) if long else None,
            "dearer": _share(pooled["dearer"], len(self.rows)),
            "cleared_share": _share(pooled["cleared"], pooled["results"]),
            "cleared_tokens_share": _share(pooled["cleared_tokens"], pooled["results_tokens"]),
            "missed_share": _share(pooled["missed"], pooled["cleared"]),
            "missed_tokens_share": _share(pooled["missed_tokens"], pooled["cleared_tokens"]),
            **{key: pooled[key] for key in ("cleared", "missed")},
        }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 5) if whole else 0.0
