"""Many sessions under many policies: what each would have cost, carried and missed, and how long results stay of use. Reads only.

A session is read by one process, scored under every policy and forgotten; what stays of it is a row of numbers.
"""

from __future__ import annotations

import os
import stat
import time

from hooks.utils.policy import kinds

from . import sessions
from .measure import score
from .pricing import dated, is_known, prices_for
from .survival import QUIET, survival

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

SCHEMA = 1
LEAST_REQUESTS = 5
DEARER = 1.0001
# Of the session whose curve is drawn, so many points stay.
CURVE_POINTS = 400
_ENDED = "a process that replayed them was ended"
_MESSAGE = 60  # characters of an error
_FILES_NAMED = 50  # of those that were skipped
_COUNTS = ("results", "results_tokens", "cleared", "cleared_tokens", "missed", "missed_tokens")


class Skipped(Exception):
    """A file is left out; the message is the reason."""


# --- which files -----------------------------------------------------------------------------------------------------------------


def find(paths: list, skip: Callable[[str, str], object]) -> list:
    """[(bytes, path)] of the *.jsonl files below files and folders, each once, the biggest first. `skip(path, reason)` is told of the
    rest."""
    found: dict = {}
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=lambda error: skip(str(error.filename), _unreadable(error))):
                linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # not walked into
                for name in (*names, *linked):
                    if name.endswith(".jsonl"):
                        _take(os.path.join(folder, name), found, skip)
        else:
            _take(path, found, skip)
    return sorted(found.values(), key=lambda pair: (-pair[0], pair[1]))


def _take(path: str, found: dict, skip: Callable[[str, str], object]) -> None:
    try:
        status = os.stat(path)
    except OSError as error:
        skip(path, _unreadable(error))
        return
    if not stat.S_ISREG(status.st_mode):
        skip(path, "not a regular file")
    elif status.st_size:
        found.setdefault(os.path.realpath(path), (status.st_size, path))
    else:
        skip(path, "empty")


def _unreadable(error: OSError) -> str:
    return "cannot be read: " + (error.strerror or str(error))


def repository_of(path: str) -> str:
    """Whose session it is: what stands before "__" in the file's name, else the project's folder."""
    folder, name = os.path.split(os.path.abspath(path))
    if "__" in name:
        return name.partition("__")[0]
    if os.path.basename(folder) == "subagents":  # <project>/<session>/subagents/agent-<id>.jsonl
        folder = os.path.dirname(os.path.dirname(folder))
    return os.path.basename(folder) or folder


# --- one session -----------------------------------------------------------------------------------------------------------------


def row_of(path: str, names: list, ttls: list, model: str = "") -> dict:
    """The numbers of one session: `scores` is {lifetime: {policy: {"cost", "carried", counts}}} with "nothing" among the policies, `curves`
    the prompt tokens of each request under two of them, for the first lifetime. Skipped when there is nothing to count."""
    try:
        session = sessions.read(path)
    except OSError as error:
        raise Skipped(_unreadable(error)) from None
    if not session.requests:
        raise Skipped("no conversation")
    if len(session.requests) < LEAST_REQUESTS:
        raise Skipped(f"under {LEAST_REQUESTS} requests")
    table = known_policies()
    scores: dict = {}
    curves: dict = {}
    for ttl_s in ttls:
        scores[ttl_s] = {}
        prices = prices_for(session, ttl_s, model)
        for name in names:
            total = score(session, table[name][0](session, prices), prices)
            scores[ttl_s][name] = {"cost": total.cost, "carried": total.carried, **{key: getattr(total, key) for key in _COUNTS}}
            if ttl_s == ttls[0] and name in ("nothing", drawn(names)):
                curves[name] = total.curve
    counts = {"requests": len(session.requests), "bytes": session.size, "bad_lines": session.bad, "model": session.model}
    return {"path": path, "repository": repository_of(path), **counts, "scores": scores, "curves": curves, "survival": survival(session)}


def drawn(names: list) -> str:
    """The policy whose curve is drawn: the one that matters most."""
    return "auto" if "auto" in names else names[-1]


def known_policies() -> dict:
    """name -> (factory(session, Prices), what it does)."""
    from .policies import POLICIES

    return POLICIES


# --- all of them -----------------------------------------------------------------------------------------------------------------


def survey(
    paths: list,
    policies: Iterable[str] | None = None,
    ttls: Iterable[float] = (300, 3_600),
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    model: str = "",
) -> dict:
    """Scores the sessions below some paths under policies (names; all by default; "nothing" is always there).

    `jobs`: processes (one for each processor by default) · `progress(bytes done, of all)` is told as it goes · `model`: at whose prices,
    "" for the one that answered each session.
    """
    table = known_policies()
    names = ["nothing", *[name for name in (table if policies is None else policies) if name != "nothing"]]
    total = _Total(names, list(ttls))
    files = find(paths, total.skip)
    whole, done = sum(size for size, _ in files), 0
    begun = time.monotonic()
    sizes = {path: size for size, path in files}
    for path, row, reason in _rows([path for _, path in files], (names, list(ttls), model), jobs or os.cpu_count() or 1):
        if row is None:
            total.skip(path, reason)
        else:
            total.take(row)
        done += sizes[path]
        if progress:
            progress(done, whole)
    descriptions = {name: table[name][1] for name in names}
    return {
        "schema": SCHEMA,
        **total.result(),
        "model": model,
        "known": is_known(model),
        "dated": dated(),
        "models": total.models,
        "descriptions": descriptions,
        "seconds": round(time.monotonic() - begun, 1),
    }


def _rows(paths: list, how: tuple, jobs: int) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """(path, row or None, reason) of each file, as they are done."""
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
        waiting: dict = {}
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


def _task(path: str, names: list, ttls: list, model: str) -> tuple:
    try:
        return path, row_of(path, names, ttls, model), ""
    except Skipped as skipped:
        return path, None, str(skipped)
    except Exception as error:  # noqa: BLE001  one file that nobody foresaw must not end the run over all the others
        return path, None, f"could not be replayed: {type(error).__name__} {str(error)[:_MESSAGE]}".rstrip()


class _Total:
    """Sums over sessions; rows hold cost and carried relative to clearing nothing."""

    def __init__(self, names: list, ttls: list):
        self.names = names
        self.ttls = ttls
        self.skipped: dict = {}
        self.skipped_files: list = []
        self.rows: list = []
        self.requests = self.bytes = 0
        self.sums: dict = {}  # (lifetime, repository, policy) -> [cost, carried]
        self.pooled = {(ttl_s, name): dict.fromkeys((*_COUNTS, "dearer"), 0) for ttl_s in ttls for name in names}
        self.survival: dict = {}
        self.longest: dict | None = None
        self.models: dict = {}  # id -> sessions that it answered

    def skip(self, path: str, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        if len(self.skipped_files) < _FILES_NAMED:
            self.skipped_files.append([path, reason])

    def take(self, row: dict) -> None:
        """Adds a session."""
        self.requests += row["requests"]
        self.bytes += row["bytes"]
        self.models[row["model"]] = self.models.get(row["model"], 0) + 1
        lifetimes: dict = {}
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
        named = {key: row[key] for key in ("path", "repository", "requests")}
        self.rows.append({**named, "ttls": lifetimes})
        for kind, marks in row["survival"].items():
            known = self.survival.setdefault(kind, [[0, 0] for _ in QUIET])
            for at, mark in enumerate(marks):
                known[at] = [known[at][0] + mark[0], known[at][1] + mark[1]]
        if self.longest is None or (row["requests"], row["path"]) > (self.longest["requests"], self.longest["path"]):
            self.longest = {"path": row["path"], "requests": row["requests"], "curves": row["curves"]}

    def result(self) -> dict:
        """All as plain values. A row's policies: [cost, carried, results cleared, their tokens, results missed]."""
        repositories = sorted({row["repository"] for row in self.rows})
        counts = {"sessions": len(self.rows), "repositories": len(repositories), "requests": self.requests, "bytes": self.bytes}
        lifetimes = {str(ttl_s): {name: self._policy(ttl_s, name, repositories) for name in self.names} for ttl_s in self.ttls}
        return {
            **counts,
            "skipped": self.skipped,
            "skipped_files": self.skipped_files,
            "ttls": lifetimes if self.rows else {},
            "rows": sorted(self.rows, key=lambda row: row["path"]),
            "survival": {
                "quiet": list(QUIET),
                "kinds": {name: self.survival[name] for name in kinds.LEARNT if name in self.survival},
                "names": {name: kinds.of(name).many for name in kinds.LEARNT},
            },
            "curve": self._curve(),
        }

    def _policy(self, ttl_s: int, name: str, repositories: list) -> dict:
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

    def _curve(self) -> dict | None:
        """Prompt tokens of the longest session, with and without clearing."""
        if self.longest is None:
            return None
        policy, curves = drawn(self.names), self.longest["curves"]
        step = -(-self.longest["requests"] // CURVE_POINTS)
        requests = list(range(1, self.longest["requests"] + 1, step))
        said = {"path": self.longest["path"], "policy": policy, "ttl": self.ttls[0], "requests": requests}
        return {**said, "without": curves["nothing"][::step], "with": curves[policy][::step]}


def _share(part: float, whole: float) -> float:
    return round(part / whole, 5) if whole else 0.0
