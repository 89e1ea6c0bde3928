"""Track the tool results of a context: each completed call gets a tier, and ends what its lifetime, a newer run or search, an edit or a
commit ends (policy/engine.py). The state is saved for each session and subagent (state/store.py). Hooks call this module.

What a hook cannot add because another process holds the lock waits beside the state (state/pending.py).
`python hooks/utils/retention_tracker.py --test` walks through the specification's timeline and checks it.
"""

from __future__ import annotations

if __name__ == "__main__" and not __package__:
    import sys
    from os import chdir, execv, path

    chdir(path.dirname(path.dirname(path.dirname(path.abspath(__file__)))))
    execv(sys.executable, [sys.executable, "-m", "hooks.utils.retention_tracker", *sys.argv[1:]])  # noqa: S606

from .hosts.claude_code import TOOL_TIERS, TOOLS
from .io import files
from .io.system import environment, os
from .io.system import now as time_of_day
from .policy import engine, lifecycle, parts
from .policy.calls import Call, Outcome
from .policy.context import ContextState
from .policy.ruleset import TIER_CONFIG, Ruleset
from .policy.tools import EDITS
from .state import store, watched_files
from .state.opening import REST_FROM, is_small, open_context
from .state.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .context_carrier import HookContext, ToolResultMeta
    from .policy.context import Result
    from .policy.events import Event
    from .policy.lifecycle import Decision
    from .policy.parts import Part

__all__ = [  # noqa: F822  some are loaded when they are asked for
    "HookContext", "RetentionTracker", "ToolResultMeta", "detect_events", "estimate_tokens", "hash_content", "process_retention",
]  # fmt: skip


def change(site: Site, paths: store.ContextFiles, transcript_path: str, work: Callable[[store.Stored, Ruleset], object]) -> None:
    """Let `work(stored, rules)` change a context, after what is pending in it, and save it unless the answer is False. A context that is
    not stored is rebuilt first, without the lock. LockTimeout when another process holds it for too long."""
    for is_last in (False, True):
        with paths.locked():
            known = store.load(paths, REST_FROM)
            if known is not None or is_last or not is_small(transcript_path):
                stored, rules = open_context(site, paths, known)
                done = _take_in_pending(paths, stored, rules)
                if work(stored, rules) is not False or done:
                    store.save(paths, stored)
                if done:
                    from .state import pending

                    pending.remove(done)
                return
        from .state import reconciling  # seldom

        reconciling.rebuild_if_small(site, paths, transcript_path)


def _take_in_pending(paths: store.ContextFiles, stored: store.Stored, rules: Ruleset) -> list[str]:
    if not files.spilled(paths.state):
        return []
    from .state import pending

    return pending.take_in(paths, stored, rules, lambda call: observe_call(paths, stored, call, rules, False))


def add_call(site: Site, paths: store.ContextFiles, transcript_path: str, call: Call, commits: bool) -> None:
    """Observe a completed call in its context and save it; a call that is there already changes nothing, because a hook may be registered
    twice. What another process's lock keeps out waits beside the state."""

    def observe(stored: store.Stored, rules: Ruleset) -> bool:
        if call.id in stored.state.live:
            return False
        observe_call(paths, stored, call, rules, commits)
        return True

    try:
        change(site, paths, transcript_path, observe)
    except files.LockTimeout:
        from .state import journal, pending

        pending.note(paths, call, entries=[journal.committed(call.id, call.committed, call.at)] if commits else [])


def observe_call(paths: store.ContextFiles, stored: store.Stored, call: Call, rules: Ruleset, commits: bool) -> list[Decision]:
    """Observe a completed call: first what it changed on disk, then itself; journal what the transcript will not tell."""
    if call.operation in EDITS and call.path and not call.outcome.error:
        stored.watched.drop(call.path)  # the agent itself edits it
    decisions = notice_changes(paths, stored, rules, call.at, call.id, store.LOOKED_AT)
    if commits:
        from .state import journal  # seldom

        store.journal(paths, journal.committed(call.id, call.committed, call.at))
    decisions.extend(engine.observe(stored.state, call, rules))
    result = stored.state.live.get(call.id)
    if result is not None and not call.outcome.error:
        for part in result.parts:
            path = part[0][5:]
            if part[0].startswith("read:") and path not in stored.watched:
                seen = watched_files.file_stamp(path)
                if seen is not None:
                    stored.watched.add(path, seen)
    return decisions


def notice_changes(
    paths: store.ContextFiles, stored: store.Stored, rules: Ruleset, at: float, call_id: str = "", most: int = 0
) -> list[Decision]:
    """Expire what was read of files that have changed on disk by other means than the edit tools; look at the first `most` of them (0 for
    all)."""
    changes = watched_files.changed_files(stored.watched, most)
    if not changes:
        return []
    for path in changes:
        stored.watched.drop(path)
    from .policy.events import FilesChanged  # seldom
    from .state import journal

    store.journal(paths, journal.files_changed(changes, at, call_id))
    return engine.observe(stored.state, FilesChanged(changes, at), rules)


def end_client(site: Site, now: float, why: str) -> None:
    """Note that the client that ran the session has ended: what lives for the session expires once it is clear that nobody resumes it. The
    transcript tells of neither, so the journal does."""
    from .policy.events import ClientEnded
    from .state import closed, journal, pending

    paths, entry, is_closed = site.paths(), journal.ended(why, now), False

    def observe(stored: store.Stored, rules: Any) -> None:
        nonlocal is_closed
        store.journal(paths, entry)
        engine.observe(stored.state, ClientEnded(now, why), rules)
        is_closed = stored.state.closed > 0 and bool(stored.state.live)

    try:
        change(site, paths, "", observe)
    except files.LockTimeout:
        pending.note(paths, entries=[entry])
    if is_closed:
        closed.add(site.lasting_home, site.session_id, site.session_project, now)


def end_others(site: Site, now: float) -> None:
    """End all closed sessions of the project in which a new session begins."""
    from .state import closed

    for session_id, (project, _) in closed.listed(site.lasting_home).items():
        if project == site.project and session_id != site.session_id:
            _end_closed(site, session_id, now)
            closed.remove(site.lasting_home, session_id)


def _end_closed(site: Site, session_id: str, now: float) -> None:
    from .policy.events import SessionEnded
    from .state import journal

    other = Site(site.environ, session_id, site.project)
    paths = other.paths()

    def observe(stored: store.Stored, rules: Any) -> bool:
        if not stored.state.closed:
            return False  # it goes on
        store.journal(paths, journal.over(now))
        engine.observe(stored.state, SessionEnded(now), rules)
        return True

    try:
        if not other.is_in_memory and watched_files.file_stamp(paths.state):
            change(other, paths, "", observe)
    except (OSError, ValueError):
        return  # its time will pass


class RetentionTracker:
    """The tool results of one context and their retention status, under the specification's names. Not thread-safe. Between `load` and
    `save` nothing is locked: what another process saves meanwhile is lost; `process_retention` holds the lock over all three steps.

    The two tables are the engine's own: changed here, in place or by a subclass, they hold for every tracker made afterwards."""

    TIER_CONFIG = TIER_CONFIG
    TOOL_TIERS = TOOL_TIERS

    def __init__(self, session_id: str = "", agent_id: str = "", rules: Ruleset | None = None):
        """Make an empty tracker that is not stored until `save`; under the shipped rules unless others are given."""
        self.session_id = session_id
        self.agent_id = agent_id
        self.rules = rules or Ruleset.from_config({}, TOOLS)
        self._stored = store.Stored(ContextState(session_id, agent_id))
        self._earlier: dict[str, Result] = {}  # expired before this tracker was loaded
        self._environ: Mapping[str, str] = environment()

    @classmethod
    def load(cls, session_id: str, agent_id: str = "", environ: Mapping[str, str] | None = None) -> RetentionTracker:
        """Return the tracker of a session (or of one of its subagents), a new one where nothing is stored."""
        site = _site(session_id, environ)
        paths = site.paths(agent_id)
        with paths.locked():
            return cls.opened(site, paths)

    @classmethod
    def opened(cls, site: Site, paths: store.ContextFiles) -> RetentionTracker:
        """Return the tracker of a context. The caller holds the lock."""
        tracker = cls(paths.session_id, paths.agent_id, site.rules())
        tracker._environ = site.environ
        tracker._stored, tracker.rules = open_context(site, paths, store.load(paths))
        tracker._earlier = store.read_expired(paths, tracker.state)
        return tracker

    def save(self) -> None:
        """Write state and expired log."""
        paths = _site(self.session_id, self._environ).paths(self.agent_id)
        with paths.locked():
            self.write(paths)

    def write(self, paths: store.ContextFiles) -> None:
        """Write state and expired log. The caller holds the lock."""
        store.save(paths, self._stored)
        self._earlier.update(self.state.expired)
        self.state.expired = {}

    @property
    def rules(self) -> Ruleset:
        return self._rules

    @rules.setter
    def rules(self, rules: Ruleset) -> None:
        rules.use_tables(self.TIER_CONFIG, self.TOOL_TIERS)
        self._rules = rules

    @property
    def state(self) -> ContextState:
        return self._stored.state

    @property
    def current_index(self) -> int:
        """The number of calls completed in this context."""
        return self.state.index

    def get_tier(self, tool_name: str, tool_input: dict[str, Any]) -> str:
        """Return the tier of a successful call of this tool with this input."""
        from .policy.classify import classify

        call = Call("", TOOLS.of(tool_name), tool_input if isinstance(tool_input, dict) else {}, Outcome())
        return classify(call, self.state.cwd, self.rules).tier

    def get_expiry_trigger(self, tier: str, ctx: HookContext) -> str | None:
        """Return what will end a result of this tier: "tool_count:N", "edit:PATH", "supersede:NAME", or None for nothing."""
        from .policy.classify import classify

        classified = classify(_call_of(ctx, "", self.state.cwd, 0), self.state.cwd or ctx.cwd, self.rules)
        return self.trigger_of(tier, classified.parts, classified.label)

    def trigger_of(self, tier: str, shown: Iterable[Part], label: str) -> str | None:
        """Return what will end a result of a tier that shows these parts."""
        rule = self.rules.tier_rule(tier)
        if rule.ttl_calls is not None:
            return f"tool_count:{rule.ttl_calls}"
        if rule.ttl_s is not None:
            return f"seconds:{rule.ttl_s:g}"
        read = next((part[0] for part in shown if part[0].startswith("read:")), "")
        if read and "edit" in rule.events:
            return "edit:" + read[len("read:") :]
        return "supersede:" + (label.partition(" ")[2] or label) if "supersede" in rule.events else None

    def meta_of(self, result: Result) -> ToolResultMeta:
        """Return the metadata of a result."""
        from datetime import datetime, timezone

        from .context_carrier import ToolResultMeta

        return ToolResultMeta(
            tool_name=result.tool,
            tool_call_index=result.index,
            timestamp=datetime.fromtimestamp(result.at, timezone.utc).isoformat(),
            retention_tier=result.tier,
            expiry_trigger=self.trigger_of(result.tier, result.parts, result.label),
            content_hash=result.hash,
            token_estimate=result.tokens,
        )

    def observe(self, event: Event) -> list[Decision]:
        """Observe one event of the engine; return its decisions."""
        return engine.observe(self.state, event, self.rules)

    def check_expirations(self, current_index: int, events: Iterable[str]) -> list[str]:
        """Mark what expires when the calls up to an index have completed and these events have happened ("edit:PATH", "commit",
        "session_end", "supersede:PATTERN"); return the ids of everything that this has marked, oldest first."""
        decisions: list[Decision] = []
        for name in events:
            self._happened(name, decisions)
        state = self.state
        for index in sorted(index for index in state.due if state.index < index <= current_index):
            state.index = index
            lifecycle.expire_due(state, self.rules, decisions)
        state.index = max(state.index, current_index)
        return [decision.id for decision in decisions]

    def _happened(self, name: str, decisions: list[Decision]) -> None:
        from .policy.events import SessionEnded

        kind, _, subject = name.partition(":")
        if kind in ("edit", "edit_file"):
            lifecycle.expire_file(self.state, self.rules, subject, "edited", subject, "", decisions)
        elif kind == "commit":
            lifecycle.expire_committed(self.state, self.rules, subject.split("\0") if subject else None, "commit", "", decisions)
        elif kind == "session_end":
            decisions.extend(self.observe(SessionEnded()))
        elif kind == "supersede":
            key, mark, scope = subject.partition("\0")
            self._supersede((key, scope.split("\0") if mark and scope else [] if mark else None), decisions)
        else:
            raise ValueError(f"unknown event {name!r}: known are edit:PATH, commit, session_end, supersede:PATTERN")

    def _supersede(self, part: tuple[str, list[str] | None], decisions: list[Decision]) -> None:
        """End what shows a part of this (key, scope); a scope of None covers every old one."""
        key, scope = part
        for result in list(self.state.live.values()):
            shows = [have for have in result.parts if parts.action_key(have) == key and (scope is None or parts.covers(part, have))]
            if shows and lifecycle.may_expire(result):
                lifecycle.end(self.state, result, "superseded", ["superseded: " + key], decisions)

    def mark_superseded(self, pattern: str) -> list[str]:
        """Mark every live result of a thing as superseded: "grep:PATTERN", "bash:COMMAND" or a part's key; return the ids."""
        decisions: list[Decision] = []
        for key in keys_of(pattern, self.state.cwd):
            self._supersede((key, None), decisions)
        return [decision.id for decision in decisions]

    def get_live(self) -> list[Result]:
        """Return the live results, oldest first."""
        return list(self.state.live.values())

    def get_all_expired(self) -> list[str]:
        """Return ids of everything expired that is still in the context, oldest first."""
        return list(self._all_expired())

    def get_tokens(self, id: str) -> int:
        """Return the estimated tokens of a result, live or expired; 0 for an id that is not known."""
        result = self.state.live.get(id) or self._all_expired().get(id)
        return result.tokens if result else 0

    def get_reclaimable_tokens(self) -> int:
        """Return the estimated tokens of everything expired that is still in the context."""
        return sum(result.tokens for result in self._all_expired().values())

    def _all_expired(self) -> dict[str, Result]:
        expired = {id: result for id, result in self._earlier.items() if id not in self.state.live}
        expired.update(self.state.expired)
        return expired


def _site(session_id: str, environ: Mapping[str, str] | None) -> Site:
    return Site(environment() if environ is None else environ, session_id, os.getcwd())


def keys_of(pattern: str, cwd: str) -> list[str]:
    """Return the keys of parts that a pattern of the specification names: "grep:login", "bash:npm test"; any other is a key itself."""
    from .policy.commandline import bash

    kind, _, rest = pattern.partition(":")
    if kind == "grep":
        return [parts.content_search(rest, [cwd])[0]]
    if kind == "bash":
        return [parts.action_key(action.part) for action in bash.actions(rest, cwd)]
    return [pattern]


def _call_of(ctx: HookContext, tool_result: str, cwd: str, index: int) -> Call:
    from .hosts.claude_code import calls

    tool = TOOLS.of(ctx.tool_name)
    outcome = calls.outcome_of_error(tool_result) if ctx.error else calls.outcome_of_text(tool, ctx.tool_input, tool_result)
    at = ctx.timestamp or time_of_day(environment())
    return Call(ctx.tool_use_id or f"call-{index}", tool, ctx.tool_input, outcome, at, ctx.cwd or cwd, ctx.prompt_id)


def detect_events(ctx: HookContext) -> list[str]:
    """Return the events that a completed call is for other results: "edit:PATH", "commit", "supersede:KEY" with the places or targets that
    the call covered behind it, NUL between them; nothing for a failed edit or commit."""
    from .policy import kinds
    from .policy.classify import classify

    call = _call_of(ctx, "", ctx.cwd, 0)
    call.outcome.error = ctx.error
    classified = classify(call, ctx.cwd, Ruleset.from_config({}, TOOLS))
    names = []
    if not ctx.error:
        names += ["edit:" + path for path in classified.edits]
    if classified.commits and not ctx.error:
        names.append("commit")
    if classified.kind in (kinds.RUN, kinds.SEARCH):
        names.extend(
            "supersede:" + "\0".join((part[0], *(part[1] or ("",)))) for part in classified.parts if part[0].startswith(("run:", "search:"))
        )
    return names


def process_retention(ctx: HookContext, tool_result: str, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Process a completed tool call. Return `meta` of its result, `expired_ids` that it ended, `tokens_reclaimable` of these, and
    `context`: the call with the metadata of every result that is live now."""
    from dataclasses import replace

    from .hosts.claude_code.calls import hash_content

    site = _site(ctx.session_id, environ)
    paths = site.paths(ctx.agent_id)
    with paths.locked():
        tracker = RetentionTracker.opened(site, paths)
        call = _call_of(ctx, tool_result, tracker.state.cwd, tracker.current_index + 1)
        decisions = tracker.observe(call)
        tracker.write(paths)
    expired = [decision for decision in decisions if decision.action in ("expire", "supersede")]
    meta = tracker.meta_of(tracker.state.live[call.id])
    return {
        "meta": replace(meta, content_hash=hash_content(tool_result) if tool_result else ""),
        "expired_ids": [decision.id for decision in expired],
        "tokens_reclaimable": sum(decision.tokens for decision in expired),
        "context": replace(ctx, tool_results_meta=tuple([tracker.meta_of(result) for result in tracker.get_live()])),
    }


# The specification's names for data, which cost more than a whole hook.
_ELSEWHERE = {
    "HookContext": "context_carrier",
    "ToolResultMeta": "context_carrier",
    "estimate_tokens": "policy.estimate",
    "hash_content": "hosts.claude_code.calls",
}


def __getattr__(name: str) -> Any:
    """Load what only the specification names once it is asked for."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("." + _ELSEWHERE[name], __package__), name)


if __name__ == "__main__":
    from .timeline import print_timeline

    raise SystemExit(print_timeline())
