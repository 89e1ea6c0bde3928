"""What a report needs of the world: the newest usage, the window, the cache, subagents, rewound branches. Reads only."""

from __future__ import annotations

import os

from ..host import usage
from ..state import store


def gather(site, rules, transcript_path: str, index, now: float) -> dict:
    """The facts of a session, from its transcript file; `index` is what it holds, or None."""
    return {
        "project": site.session_project,
        "transcript": transcript_path,
        "context": context_of(transcript_path, rules, site.session, now),
        "abandoned": index.abandoned if index is not None else 0,
        "agents": agents(site),
    }


def context_of(transcript_path: str, rules, session: dict, now: float) -> dict | None:
    """How full the context is, of how much, and whether its prompt cache is warm; None where no request is known."""
    newest = usage.newest_usage(transcript_path) if transcript_path else None
    if newest is None:
        return None
    model = session.get("model") or newest.model
    largest = session.get("largest_tokens")
    largest = max(newest.tokens, largest if isinstance(largest, int) else 0)
    window, source = usage.window_of(model if isinstance(model, str) else "", rules.window_tokens, session.get("window_tokens"), largest)
    warm = newest.is_warm(now)
    return {
        "tokens": newest.tokens,
        "window": window,
        "window_source": source,
        "ratio": round(newest.tokens / window, 4),
        "model": newest.model,
        "cache": "warm" if warm else "cold",
        "cache_seconds_left": min(newest.cache_ttl_s, max(0, round(newest.cache_ttl_s - (now - newest.at)))) if warm else 0,
    }


def agents(site) -> list:
    """The subagent contexts that the hooks have seen, as their states stand."""
    found = []
    try:
        names = sorted(os.listdir(site.paths().folder))
    except OSError:
        return []
    for name in names:
        if not name.startswith("agent-") or not name.endswith(".state.json"):
            continue
        paths = site.paths(name[len("agent-") : -len(".state.json")])
        stored = store.load(paths)
        if stored is None:
            continue
        state = stored.state
        found.append(
            {
                "agent": state.agent_id,
                "calls": state.index,
                "live": _sums(state.live.values(), state.calibration),
                "expired": _sums(store.read_expired(paths, state).values(), state.calibration),
            }
        )
    return found


def _sums(results, factor: float) -> dict:
    results = list(results)
    return {"items": len(results), "tokens": sum(round(result.tokens * factor) for result in results)}
