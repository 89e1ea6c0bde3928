"""Scores many sessions under many policies: the cost, the tokens carried and the misses of each. Reads only.

A session is read by one process, scored under every policy and forgotten; only a row of numbers is kept of it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hooks.utils.hosts import entire

from . import card, sessions
from .checked import Failed
from .loading import Unusable
from .measure import DEARER
from .policies import POLICIES, described, models, prices_for, score

SCHEMA = 1
LEAST_REQUESTS = 5
CURVE_POINTS = 400  # at most, of the session whose curve is drawn
_ENDED = "a process that replayed them was ended"
_MESSAGE = 60  # characters of an error
_FILES_NAMED = 50  # at most, of those that were skipped
_COUNTS = ("results", "results_tokens", "cleared", "cleared_tokens", "missed", "missed_tokens")


class Skipped(Exception):
    """A file is left out; the message is the reason."""


# --- which files -----------------------------------------------------------------------------------------------------------------


def find(paths: list[str], skip: Callable[[str, str], object]) -> list[tuple[int, str]]:
    """Return (bytes, path) of the *.jsonl files below files and folders, each once, the biggest first. `skip(path, reason)` is called for
    all others."""
    files: dict[str, tuple[int, str]] = {}  # real path -> (bytes, path)
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=lambda error: skip(str(error.filename), _unreadable(error))):
                linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # not walked into
                for name in (*names, *linked):
                    if name.endswith(".jsonl"):
                        _take(os.path.join(folder, name), files, skip)
        else:
            _take(path, files, skip)
    return sorted(entire.last_of_each(files.values(), skip), key=lambda pair: (-pair[0], pair[1]))


def _take(path: str, files: dict[str, tuple[int, str]], skip: Callable[[str, str], object]) -> None:
    try:
        status = os.stat(path)
    except OSError as error:
        skip(path, _unreadable(error))
        return
    if not stat.S_ISREG(status.st_mode):
        skip(path, "not a regular file")
    elif status.st_size:
        files.setdefault(os.path.realpath(path), (status.st_size, path))
    else:
        skip(path, "empty")


def _unreadable(error: OSError) -> str:
    return "cannot be read: " + (error.strerror or str(error))


def repository_of(path: str) -> str:
    """Return the repository of a session: the part before "__" of the file's name, else the project's folder."""
    folder, name = os.path.split(os.path.abspath(path))
    if "__" in name:
        return name.partition("__")[0]
    if os.path.basename(folder) == "subagents":  # <project>/<session>/subagents/agent-<id>.jsonl
        folder = os.path.dirname(os.path.dirname(folder))
    return os.path.basename(folder) or folder


# --- one session -----------------------------------------------------------------------------------------------------------------


def row_of(path: str, names: list[str], ttls: list[float], model: str = "") -> dict[str, Any]:
    """Return the numbers of one session: `scores` is {lifetime: {policy: {"cost", "carried", counts}}} with "nothing" among the policies,
    `curves` the prompt tokens of each request under two of them, for the first lifetime, `failed` {policy of somebody's own: why it failed
    here}, whose numbers are then those of clearing nothing. Skipped when there is nothing to count."""
    try:
        session = sessions.read(path)
    except OSError as error:
        raise Skipped(_unreadable(error)) from None
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
            scores[ttl_s][name] = {"cost": total.cost, "carried": total.carried, **{key: getattr(total, key) for key in _COUNTS}}
            if ttl_s == ttls[0] and name in ("nothing", drawn(names)):
                curves[name] = total.curve
    counts = {"requests": len(session.requests), "bytes": session.size, "bad_lines": session.bad, "model": session.model}
    repository = session.cwd if session.is_translated and session.cwd else repository_of(path)  # other hosts sort by day, or not at all
    named = {"path": path, "repository": repository, "digest": card.digest_of(path)}
    return {**named, **counts, "scores": scores, "curves": curves, "failed": failed}


def drawn(names: list[str]) -> str:
    """Return the policy whose curve is drawn: the one that matters most."""
    return "auto" if "auto" in names else names[-1]


# --- all of them -----------------------------------------------------------------------------------------------------------------


def survey(
    paths: list[str],
    policies: Iterable[str] | None = None,
    ttls: Iterable[float] = (300, 3_600),
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    model: str = "",
) -> dict[str, Any]:
    """Score the sessions below some paths under policies (names; all that ship by default; "nothing" is always there); loading.Unusable.

    `jobs`: processes (one for each processor by default) · `progress(bytes done, of all)` is called after each file · `model`: at whose
    prices, "" for the one that answered each session.
    """
    names = ["nothing", *[name for name in (POLICIES if policies is None else policies) if name != "nothing"]]
    descriptions = {name: described(name) for name in names}
    total = _Total(names, list(ttls))
    sizes = {path: size for size, path in find(paths, total.skip)}
    whole, done = sum(sizes.values()), 0
    begun = time.monotonic()
    for path, row, reason in _rows(list(sizes), (names, total.ttls, model), jobs or os.cpu_count() or 1):
        if row is None:
            total.skip(path, reason)
        else:
            total.take(row)
        done += sizes[path]
        if progress:
            progress(done, whole)
    return {
        "schema": SCHEMA,
        **total.result(),
        "model": model,
        "known": models().model(model).known,
        "dated": models().dated,
        "models": total.models,
        "descriptions": descriptions,
        "seconds": round(time.monotonic() - begun, 1),
    }


def _rows(paths: list[str], how: tuple, jobs: int) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """Yield (path, row or None, reason) of each file, as they are done."""
    if jobs < 2 or len(paths) < 2:
        for path in paths:
            yield _task(path, *how)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Forking is not safe everywhere.
    pool = ProcessPoolExecutor(min(jobs, len(paths)), mp_context=get_context("spawn"))
    try:
        waiting = {}
        for path in paths:
            try:
                waiting[pool.submit(_task, path, *how)] = path
            except BrokenProcessPool:  # noqa: PERF203  it may break after any of them
                yield path, None, _ENDED
        for future in as_completed(list(waiting)):
            path = waiting.pop(future)
            try:
                yield future.result()
            except BrokenProcessPool:
                yield path, None, _ENDED
            # A finished future keeps its row.
            del future
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _task(path: str, names: list[str], ttls: list[float], model: str) -> tuple[str, dict[str, Any] | None, str]:
    try:
        return path, row_of(path, names, ttls, model), ""
    except Skipped as skipped:
        return path, None, str(skipped)
    except Exception as error:  # noqa: BLE001  one file that nobody foresaw must not end the run over all the others
        return path, None, f"could not be replayed: {type(error).__name__} {str(error)[:_MESSAGE]}".rstrip()


class _Total:
    """Sums over sessions; rows hold cost and carried relative to clearing nothing."""

    def __init__(self, names: list[str], ttls: list[float]):
        self.names = names
        self.ttls = ttls
        self.skipped: dict[str, int] = {}  # reason -> files
        self.skipped_files: list[list[str]] = []
        self.rows: list[dict[str, Any]] = []
        self.requests = self.bytes = 0
        self.sums: dict[tuple[float, str, str], list[float]] = {}  # (lifetime, repository, policy) -> [cost, carried]
        self.pooled = {(ttl_s, name): dict.fromkeys((*_COUNTS, "dearer"), 0) for ttl_s in ttls for name in names}
        self.longest: dict[str, Any] | None = None
        self.models: dict[str, int] = {}  # id -> sessions that it answered
        self.failed: dict[str, dict[str, int]] = {}  # policy -> why it failed -> sessions

    def skip(self, path: str, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        if len(self.skipped_files) < _FILES_NAMED:
            self.skipped_files.append([path, reason])

    def take(self, row: dict[str, Any]) -> None:
        """Add a session."""
        self.requests += row["requests"]
        self.bytes += row["bytes"]
        self.models[row["model"]] = self.models.get(row["model"], 0) + 1
        for name, why in row["failed"].items():
            reasons = self.failed.setdefault(name, {})
            reasons[why] = reasons.get(why, 0) + 1
        lifetimes = {}
        for ttl_s, scores in row["scores"].items():
            base = scores["nothing"]
            ratios = {}
            for name, one in scores.items():
                sums = self.sums.setdefault((ttl_s, row["repository"], name), [0.0, 0])
                sums[0] += one["cost"]
                sums[1] += one["carried"]
                pooled = self.pooled[ttl_s, name]
                pooled["dearer"] += one["cost"] > DEARER * base["cost"]
                for key in _COUNTS:
                    pooled[key] += one[key]
                ratio = [round(one["cost"] / base["cost"], 4), round(one["carried"] / base["carried"], 4)]
                ratios[name] = [*ratio, one["cleared"], one["cleared_tokens"], one["missed"]]
            lifetimes[str(ttl_s)] = {"base_cost": round(base["cost"]), "results": base["results"], "policies": ratios}
        named = {key: row[key] for key in ("path", "repository", "digest", "requests", "failed")}
        self.rows.append({**named, "ttls": lifetimes})
        if self.longest is None or (row["requests"], row["path"]) > (self.longest["requests"], self.longest["path"]):
            self.longest = {"path": row["path"], "requests": row["requests"], "curves": row["curves"]}

    def result(self) -> dict[str, Any]:
        """Return the sums as plain values. A row's policies: [cost, carried, results cleared, their tokens, results missed]."""
        repositories = sorted({row["repository"] for row in self.rows})
        counts = {"sessions": len(self.rows), "repositories": len(repositories), "requests": self.requests, "bytes": self.bytes}
        lifetimes = {str(ttl_s): {name: self._policy(ttl_s, name, repositories) for name in self.names} for ttl_s in self.ttls}
        return {
            **counts,
            "skipped": self.skipped,
            "skipped_files": self.skipped_files,
            "failed": self.failed,
            "ttls": lifetimes if self.rows else {},
            "rows": sorted(self.rows, key=lambda row: row["path"]),
            "curve": self._curve(),
        }

    def _policy(self, ttl_s: float, name: str, repositories: list[str]) -> dict[str, float]:
        pooled = self.pooled[ttl_s, name]
        pairs = [(self.sums[ttl_s, repository, name], self.sums[ttl_s, repository, "nothing"]) for repository in repositories]
        means = [_share(sum(own[at] / base[at] for own, base in pairs), len(pairs)) for at in (0, 1)]
        return {
            "cost": means[0],
            "carried": means[1],
            "misses_per_100": _share(100 * pooled["missed"], self.requests),
            "dearer": _share(pooled["dearer"], len(self.rows)),
            "cleared_share": _share(pooled["cleared"], pooled["results"]),
            "cleared_tokens_share": _share(pooled["cleared_tokens"], pooled["results_tokens"]),
            "missed_share": _share(pooled["missed"], pooled["cleared"]),
            "missed_tokens_share": _share(pooled["missed_tokens"], pooled["cleared_tokens"]),
            **{key: pooled[key] for key in ("cleared", "missed")},
        }

    def _curve(self) -> dict[str, Any] | None:
        """Return the prompt tokens of the longest session, with and without clearing."""
        if self.longest is None:
            return None
        policy, curves = drawn(self.names), self.longest["curves"]
        step = -(-self.longest["requests"] // CURVE_POINTS)
        requests = list(range(1, self.longest["requests"] + 1, step))
        lines = {"without": curves["nothing"][::step], "with": curves[policy][::step]}
        return {"path": self.longest["path"], "policy": policy, "ttl": self.ttls[0], "requests": requests, **lines}


def _share(part: float, whole: float) -> float:
    return round(part / whole, 5) if whole else 0.0
