"""Sums up the rows of sessions: means over repositories, pooled counts, and what was left out. Pure.

No digit depends on the order of the sessions: costs are added as whole numbers of the smallest part of a unit that a row holds.
"""

from __future__ import annotations

from typing import Any

from .measure import DEARER

CURVE_POINTS = 400  # at most, of the session whose curve is drawn
COUNTS = ("results", "results_tokens", "cleared", "cleared_tokens", "missed", "missed_tokens")
_PARTS = 1_000_000  # of a unit: a cost is added as so many
_FILES_NAMED = 50  # at most, of those that were left out


def drawn(names: list[str]) -> str:
    """Return the policy whose curve is drawn: the one that matters most."""
    return "auto" if "auto" in names else names[-1]


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
        self.pooled = {(ttl_s, name): dict.fromkeys((*COUNTS, "dearer"), 0) for ttl_s in ttls for name in names}
        self.longest: dict[str, Any] | None = None
        self.models: dict[str, int] = {}  # id -> sessions that it answered
        self.failed: dict[str, dict[str, int]] = {}  # policy -> why it failed -> sessions

    def skip(self, path: str, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self.skipped_files.append([path, reason])
        if len(self.skipped_files) > 2 * _FILES_NAMED:
            self.skipped_files = sorted(self.skipped_files)[:_FILES_NAMED]

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
            for name in self.names:
                one = scores[name]
                sums = self.sums.setdefault((ttl_s, row["repository"], name), [0, 0])
                sums[0] += round(_PARTS * one["cost"])
                sums[1] += one["carried"]
                pooled = self.pooled[ttl_s, name]
                pooled["dearer"] += one["cost"] > DEARER * base["cost"]
                for key in COUNTS:
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
            "skipped": dict(sorted(self.skipped.items())),
            "skipped_files": sorted(self.skipped_files)[:_FILES_NAMED],
            "failed": {name: dict(sorted(reasons.items())) for name, reasons in sorted(self.failed.items())},
            "ttls": lifetimes if self.rows else {},
            "rows": sorted(self.rows, key=lambda row: row["path"]),
            "curve": self._curve(),
            "models": dict(sorted(self.models.items(), key=lambda one: (-one[1], one[0]))),
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
