"""What a report needs of the world: the newest usage, the window, the cache, subagents, rewound branches. Reads only."""

from __future__ import annotations

import os

from ..edges import store, transcript, usage


def gather(site, rules, transcript_path: str, read, now: float) -> dict:
    """The facts of a session, from its transcript file; `read` is the parsed transcript or None."""
    return {
        "project": site.session.get("project") or site.project,
        "transcript": transcript_path,
        "context": context_of(transcript_path, rules, site.session, now),
        "abandoned": abandoned(read) if read is not None else 0,
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


def abandoned(read) -> int:
    """How many results stand in the transcript on a branch that was rewound."""
    on_branch = transcript.calls_on_branch(read)
    elsewhere = {
        block.get("tool_use_id")
        for entry in read.entries
        if entry.get("type") == "user" and not entry.get("isSidechain")
        for block in transcript.blocks_of(entry)
        if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str)
    }
    return len(elsewhere - set(on_branch))


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
