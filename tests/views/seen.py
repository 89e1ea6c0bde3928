"""A Scenario as answers see it: with a prompt, a cache and plans."""

from __future__ import annotations

from types import SimpleNamespace

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.conversation import Conversation, Place
from popkit_retention.core.policy.plans import Plan, Selection
from popkit_retention.core.policy.ruleset import Ruleset
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.reclaim.outlook import Outlook, plan_of
from popkit_retention.core.state.rebuild import Rebuild
from popkit_retention.lab.try_command import ReadOnlySite
from tests.policy.scenario import Scenario

PROMPT = 50_000
SITE = ReadOnlySite("", "/p", "session")


def conversation_of(session: Scenario, prompt: int = PROMPT, since_s: float = 5.0, model: str = "claude-opus-4-8") -> Conversation:
    """A conversation whose last request, `since_s` seconds ago, had all of it in a prompt of so many tokens."""
    conversation = Conversation(session.state, lambda profile: Ruleset.from_config(session.config, TOOLS, profile or session.rules.profile))
    conversation.places = {result.id: Place(prompt // 5, 0) for result in conversation.results()}
    if prompt:
        conversation.requests, conversation.count = [(Usage(prompt, session.at - since_s, model), 0)], 1
    return conversation


def seen(session: Scenario, now: float = 0.0, **conversation) -> Outlook:
    """The outlook of a Scenario at a time; by default of its last call, with a warm cache."""
    of_session = conversation_of(session, **conversation)
    rebuilt = Rebuild(of_session, SimpleNamespace(abandoned=0, doubts=[], translated=""))
    return Outlook(SITE, "/p/session.jsonl", session.state, of_session.rules, max(now, session.at), rebuilt)


def planned(session: Scenario, asked: Selection, cold: bool = False, **conversation) -> Plan:
    """What a clear would do."""
    return plan_of(conversation_of(session, **conversation), asked, session.at, cold)
