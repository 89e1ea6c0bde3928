"""The specification's RetentionTracker, over the engine and its store; `retention_tracker` names it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import datetime, timezone

from .context_carrier import HookContext, ToolResultMeta
from .hosts.tools import tools_of
from .hosts.transcripts import outcomes
from .hosts.transcripts.outcomes import hash_content
from .io.codec import as_object
from .policy import engine, file_changes, kinds, lifecycle, parts
from .policy.calls import Call, Outcome
from .policy.classify import classify
from .policy.commandline import bash
from .policy.context import ContextState
from .policy.coverage import covers
from .policy.events import SessionEnded
from .policy.ruleset import TIER_CONFIG, Ruleset
from .state import store
from .state.opening import open_context
from .state.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .policy.context import Result
    from .policy.events import Event
    from .policy.lifecycle import Decision
    from .policy.parts import Part

TOOLS = tools_of("")
TOOL_TIERS = TOOLS.tiers


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
        self._stored = store.StoredState(ContextState(session_id, agent_id))
        self._earlier: dict[str, Result] = {}  # expired before this tracker was loaded
        self._environ: Mapping[str, str] = os.environ

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
        store.save(paths, self._stored, self.rules)
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

    def get_tier(self, tool_name: str, tool_input: dict[str, object]) -> str:
        """Return the tier of a successful call of this tool with this input."""
        call = Call("", TOOLS.of(tool_name), as_object(tool_input), Outcome())
        return classify(call, self.state.cwd, self.rules).tier

    def get_expiry_trigger(self, tier: str, ctx: HookContext) -> str | None:
        """Return what will end a result of this tier: "tool_count:N", "edit:PATH", "supersede:NAME", or None for nothing."""
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
        kind, _, subject = name.partition(":")
        if kind in ("edit", "edit_file"):
            file_changes.expire_file(self.state, self.rules, subject, "edited", subject, "", decisions)
        elif kind == "commit":
            file_changes.expire_committed(self.state, self.rules, subject.split("\0") if subject else None, "commit", "", decisions)
        elif kind == "session_end":
            decisions.extend(self.observe(SessionEnded(self.state.at)))
        elif kind == "supersede":
            key, mark, scope = subject.partition("\0")
            self._supersede((key, scope.split("\0") if mark and scope else [] if mark else None), decisions)
        else:
            raise ValueError(f"unknown event {name!r}: known are edit:PATH, commit, session_end, supersede:PATTERN")

    def _supersede(self, part: tuple[str, list[str] | None], decisions: list[Decision]) -> None:
        """End what shows a part of this (key, scope); a scope of None covers every old one."""
        key, scope = part
        for result in list(self.state.live.values()):
            shows = [have for have in result.parts if parts.action_key(have) == key and (scope is None or covers(part, have))]
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
    return Site(os.environ if environ is None else environ, session_id, os.getcwd())


def keys_of(pattern: str, cwd: str) -> list[str]:
    """Return the keys of parts that a pattern of the specification names: "grep:login", "bash:npm test"; any other is a key itself."""
    kind, _, rest = pattern.partition(":")
    if kind == "grep":
        return [parts.content_search(rest, [cwd])[0]]
    if kind == "bash":
        return [parts.action_key(action.part) for action in bash.actions(rest, cwd)]
    return [pattern]


def _call_of(ctx: HookContext, tool_result: str, cwd: str, index: int) -> Call:
    tool = TOOLS.of(ctx.tool_name)
    outcome = outcomes.outcome_of_error(tool_result) if ctx.error else outcomes.outcome_of_text(tool, ctx.tool_input, tool_result)
    at = ctx.timestamp or time.time()
    return Call(ctx.tool_use_id or f"call-{index}", tool, ctx.tool_input, outcome, at, ctx.cwd or cwd, ctx.prompt_id)


def detect_events(ctx: HookContext) -> list[str]:
    """Return the events that a completed call is for other results: "edit:PATH", "commit", "supersede:KEY" with the places or targets that
    the call covered behind it, NUL between them; nothing for a failed edit or commit."""
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


def process_retention(ctx: HookContext, tool_result: str, environ: Mapping[str, str] | None = None) -> dict[str, object]:
    """Process a completed tool call. Return `meta` of its result, `expired_ids` that it ended, `tokens_reclaimable` of these, and
    `context`: the call with the metadata of every result that is live now."""
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
