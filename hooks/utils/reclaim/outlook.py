"""Look at one context: how full it is, with the clears that could be made of it. Answers, notices and the status line are drawn from it.
Reconciles once; writes nothing but the tracker's own state.
"""

from __future__ import annotations

from ..hosts.transcripts import entries, usage
from ..policy import economics, engine, events, figures, least_needed, planning, verdict
from ..policy.context import ContextState
from ..policy.context import reclaimable as dead_of
from ..policy.plans import Plan, Selection
from ..state import journal, noting, receipts, reconciling, shipped, stale_ledgers, store, stored_contexts
from ..state.noted import SessionNotes
from . import auto_compaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Protocol

    from ..policy.context import Result
    from ..policy.conversation import Conversation
    from ..policy.events import Event
    from ..policy.least_needed import Goal
    from ..policy.ruleset import Ruleset
    from ..policy.session_facts import SessionFacts
    from ..policy.shapes import Agent, Context, Sums, Verdict
    from ..state.rebuild import Rebuild, Watch
    from ..state.site import Site

    class OutlookSite(Protocol):
        """The part of a Site that an outlook needs; that of `popkit try` keeps nothing."""

        @property
        def home(self) -> str: ...
        @property
        def session_id(self) -> str: ...
        @property
        def session(self) -> SessionFacts: ...
        @property
        def session_project(self) -> str: ...


class Outlook:
    """`state` and the `rules` that hold for it, `rebuilt` (None where no transcript tells) · `now`, `cold`: the one plan of what would
    leave now, whoever asks, and of what would leave once the cache is cold, by its `goal`; None without a transcript that may be changed ·
    `context`: how full it is, None before the first request · `agents`: the subagents · `ledger`: of the whole session · `taken`: ids of
    the calls of which compactions of ours took something out -> whether it is back · `noted`: ids of what leaves once the session is
    resumed, `noted_further`: tokens that leave with it, `returning`: how much comes back then · `at` (seconds)."""

    __slots__ = (
        "agents", "at", "cold", "context", "goal", "ledger", "noted", "noted_further", "now", "project", "rebuilt", "returning", "rules",
        "state", "taken", "transcript",
    )  # fmt: skip

    def __init__(
        self, site: OutlookSite, transcript_path: str, state: ContextState, rules: Ruleset, at: float, rebuilt: Rebuild | None = None,
        is_cold: bool | None = None, taken: Mapping[str, bool] | None = None, goal: Goal | None = None, noted: Collection[str] = (),
        noted_further: int = 0, returning: int = 0,
    ) -> None:  # fmt: skip
        """Look at a context; `is_cold`: whether its cache is, by the clock where that is None."""
        self.state, self.rules, self.at, self.rebuilt = state, rules, at, rebuilt
        self.project, self.transcript, self.taken = site.session_project, transcript_path, taken or {}
        self.goal, self.noted, self.noted_further, self.returning = goal, noted, noted_further, returning
        self.agents, ledgers = agents(site)
        self.ledger = figures.together([state.counts.ledger, *ledgers])
        self.now: Plan | None = None
        self.cold: Plan | None = None
        self.context: Context | None = None
        self.plan(site.session, is_cold)

    def plan(self, session: SessionFacts, is_cold: bool | None = None) -> None:
        """Plan over the conversation as it is now."""
        if self.rebuilt is None:
            return
        conversation, selection = self.rebuilt.conversation, Selection()
        self.context = context_of(conversation, session, self.at)
        if self.doubt:
            return  # a clear refuses it
        now = plan_of(conversation, selection, self.at, bool(is_cold), self.goal)
        self.now, self.cold = now, plan_of(conversation, selection, self.at, True, self.goal) if now.sum.warm else now

    @property
    def doubt(self) -> str:
        """Return the part of the transcript that is not understood, so that nothing may be changed; "" for none."""
        return self.rebuilt.index.doubts[0] if self.rebuilt is not None and self.rebuilt.index.doubts else ""

    @property
    def expired(self) -> Sums:
        """Return the expired results that are still in the context."""
        return _sums(dead_of(self.state.expired).values(), self.state.calibration)

    @property
    def left(self) -> int:
        """Return of how many results compactions have taken something out, whoever did them: all that are gone, and those on a receipt."""
        known = {*self.state.live, *self.state.expired}
        out = {id for id, is_back in self.taken.items() if not is_back}
        whole = known.union(self.taken) - out
        return max(0, self.state.index - len(whole)) if self.state.epoch else 0

    @property
    def verdict(self) -> Verdict:
        """Return the recommended action."""
        waits = [decision for decision in (self.now.decisions if self.now is not None else ()) if decision.result.id in self.noted]
        noted: Sums = {"items": len(waits), "tokens": sum([decision.gain for decision in waits]) + self.noted_further}
        critical = self.rules.thresholds["critical"]
        return verdict.verdict(self.now, self.cold, self.context, critical, self.expired["items"], noted, self.returning)


def look(site: Site, transcript_path: str, now: float) -> Outlook:
    """Return the main context, reconciled with its transcript. Where nothing can be written it is the same; where there is no transcript
    (yet), what the hooks have seen."""
    if site.stands_still:
        return _unsaved(site, transcript_path, now)
    try:
        if site.project and not site.session.project:
            site.remember(project=site.project)
        rebuilt = reconciling.reconcile(site, transcript_path, now=now)
        stale_ledgers.settle_agents(site, transcript_path)
        view = of(site, transcript_path, rebuilt, now)
        reconciling.remember_size(site, site.paths(), rebuilt)
        remember(view, site)
        return view
    except (OSError, ValueError):
        return _unsaved(site, transcript_path, now)


def change(view: Outlook, site: Site, entries: Sequence[journal.Entry]) -> None:
    """Journal a change by the user, and update the outlook without another look at the transcript."""
    if not entries:
        return
    noting.note(site, site.paths(), entries)
    happened: list[Event] = [*(event for event in map(journal.event_of, entries) if event), events.Tick(view.at)]
    for event in happened:
        if view.rebuilt is not None:
            view.rebuilt.conversation.observe(event)
            view.rules = view.rebuilt.conversation.rules
        else:
            view.rules = site.rules_for(event.profile) if isinstance(event, events.ProfileChosen) else view.rules
            engine.observe(view.state, event, view.rules)
    if view.rebuilt is not None:
        view.plan(site.session)
        remember(view, site)


def of(site: Site, transcript_path: str, rebuilt: Rebuild, now: float) -> Outlook:
    """Return the outlook of a Rebuilt context."""
    goal, noted = goal_of(site, rebuilt), SessionNotes(site.home, site.session_id)
    return Outlook(
        site, transcript_path, rebuilt.state, rebuilt.conversation.rules, now, rebuilt, taken=_taken(site), goal=goal, noted=noted.only,
        noted_further=noted.further, returning=len(noted.back),
    )  # fmt: skip


def goal_of(site: Site, rebuilt: Rebuild) -> Goal | None:
    """Return how much stays of a conversation once it leaves a cold cache, as `auto_compaction.goal` does."""
    try:
        lines = journal.read(site.paths())
    except OSError:
        lines = []
    return auto_compaction.goal(site, rebuilt, lines)


def read(site: Site, transcript_path: str, now: float, watch: Watch | None = None) -> Outlook:
    """Return the same as `look`, but write nothing, take no lock and wait for nobody: for watching while a client is at work. `watch`: see
    `state.rebuild`."""
    if transcript_path and entries.is_there(transcript_path):
        rebuilt = reconciling.rebuilt(site, site.paths(), transcript_path, watch)
        rebuilt.conversation.observe(events.Tick(now))
        return of(site, transcript_path, rebuilt, now)
    return _of_stored(site, transcript_path, store.read_unlocked(site.paths()), now)


def _unsaved(site: Site, transcript_path: str, now: float) -> Outlook:
    if transcript_path and entries.is_there(transcript_path):
        return read(site, transcript_path, now)
    return _of_stored(site, transcript_path, store.load(site.paths()), now)


def _of_stored(site: Site, transcript_path: str, stored: store.StoredState | None, now: float) -> Outlook:
    paths = site.paths()
    if stored is None:
        return Outlook(site, transcript_path, ContextState(site.session_id), site.rules(), now)
    stored.state.expired = store.read_expired(paths, stored.state)
    rules = site.rules_for(stored.state.profile)
    engine.reindex(stored.state, rules)
    engine.observe(stored.state, events.Tick(now), rules)
    return Outlook(site, transcript_path, stored.state, rules, now, taken=_taken(site))


def _taken(site: Site) -> dict[str, bool]:
    """Return id of a call of which compactions of ours took something out -> whether all of it has come back."""
    paths = site.paths()
    try:
        found = receipts.receipts(journal.read(paths), store.read_lines(paths.receipts))
    except OSError:
        return {}  # they cannot be read: what stands tells most of it
    taken: dict[str, bool] = {}
    for call in (call for receipt in found if receipt["why"] != receipts.CLEAR for call in receipt["calls"]):
        taken[call["id"]] = call["back"] and taken.get(call["id"], True)
    return taken


def remember(view: Outlook, site: Site) -> None:
    """Keep the removable tokens for the status line, with the state they belong to; and the tokens in the context, until a request shows
    them."""
    remember_size(site, view.rebuilt.conversation if view.rebuilt is not None else None)
    if view.now is None:
        site.remember(planned=None)
        return
    sums = {name: verdict.takes(plan)["tokens"] for name, plan in (("now", view.now), ("cold", view.cold))}
    site.remember(planned={**sums, "calls": view.state.index, "warm": view.now.sum.warm})


def remember_size(site: Site, conversation: Conversation | None) -> None:
    """Keep what stands behind a compaction, for those who do not read the transcript."""
    if conversation is not None and conversation.newest.tokens and not conversation.is_measured:
        note_size(site, conversation.stands, conversation.last.at)


def note_size(site: Site, tokens: int, at: float) -> None:
    """Keep how many tokens stand in the main context since a compaction at that time (seconds)."""
    site.remember(stands={"tokens": tokens, "at": at})


def plan_of(
    conversation: Conversation, selection: Selection, now: float, cold: bool = False, goal: Goal | None = None
) -> Plan:  # fmt: skip
    """Return the plan over a conversation at the prices that hold for it; `cold`: the next request will find no cache; `goal`: as
    `planning.plan` takes it."""
    last = conversation.newest
    model = conversation.rules.models.model(last.model)
    prices = economics.prices_of(model, last.cache_ttl_s)
    plan = planning.plan(conversation, selection, now, shipped.need_model(), prices, cold or None, in_place=True, goal=goal)
    usd = model.usd(last.tokens)[0]
    if usd is not None and plan.pays and not plan.sum.warm:
        plan.usd = round(max(0.0, least_needed.saved(plan.sum, prices)) * usd / 1e6, 4)
    return plan


def context_of(conversation: Conversation, session: SessionFacts, now: float) -> Context | None:
    """Return how full the context is, of how much, and whether its prompt cache is warm; None where no request is known."""
    last, newest = conversation.last, conversation.newest
    if not newest.tokens:
        return None
    tokens = conversation.stands
    largest = max(tokens, conversation.largest)
    window, source = usage.window_of(conversation.rules, session, newest, largest, conversation.compacted_tokens)
    warm = last.is_warm(now)
    return {
        "tokens": tokens,
        "measured": conversation.is_measured,
        "window": window,
        "window_source": source,
        "ratio": round(tokens / window, 4),
        "model": newest.model,
        "cache": "warm" if warm else "cold",
        "cache_seconds_left": last.seconds_left(now),
    }


def agents(site: OutlookSite) -> tuple[list[Agent], list[dict[str, float]]]:
    """Return (the subagent contexts that the hooks have seen, with their states; their ledgers)."""
    known_agents: list[Agent] = []
    ledgers: list[dict[str, float]] = []
    for paths in stored_contexts.contexts_of(site.home, site.session_id):
        stored = store.load(paths) if paths.agent_id else None
        if stored is None:
            continue
        state = stored.state
        ledgers.append(state.counts.ledger)
        known_agents.append(
            {
                "agent": state.agent_id,
                "calls": state.index,
                "live": _sums(state.live.values(), state.calibration),
                "expired": _sums(dead_of(store.read_expired(paths, state)).values(), state.calibration),
            }
        )
    return known_agents, ledgers


def _sums(results: Iterable[Result], factor: float) -> Sums:
    results = list(results)
    return {"items": len(results), "tokens": sum(round(result.tokens * factor) for result in results)}
