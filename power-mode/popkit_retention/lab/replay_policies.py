"""The shipped policies, by name, with a session's prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from popkit_retention.core.policy import door
from popkit_retention.core.policy.economics import Prices, prices_of
from popkit_retention.core.policy.least_needed import LONG
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.ruleset import AUTO_MISSES, Ruleset
from popkit_retention.core.state import shipped

from . import measure, own_policies
from .checked_policies import CheckedPolicy
from .compacting import Compactor
from .door_policy import Door, door_settings_of
from .engine_policies import AutoPolicy, Tiers
from .host_policies import Microcompact
from .policy import Policy
from .recorded import Session

Factory = Callable[[Session, Prices], Policy]
Known = Mapping[str, tuple[Factory, str]]

# Prices for policies that are not affected by them.
ANY_PRICES = Prices(0.1, 1.25, 5.0, 300, False)


models = lru_cache(maxsize=1)(shipped.models)


def prices_for(session: Session, ttl_s: float, model: str = "") -> Prices:
    """Return the prices of a model, of the one that answered most of the session's requests where none is named, with a lifetime of the
    cache (seconds). For a model that `has_price` does not know, decisions go by the most cautious prices, at which no bill is made."""
    return prices_of(models().model(model or session.model), ttl_s)


def has_price(model: str) -> bool:
    """Return whether the table of models has a price for a model."""
    return models().model(model).input_usd is not None


def _auto(session: Session, prices: Prices) -> Policy:
    return AutoPolicy(prices, shipped.need_model(), shipped.rules())


def _compact(cold: bool) -> Factory:
    return lambda session, prices: Compactor(prices, shipped.need_model(), shipped.rules(), cold=cold)


def _door(name: str) -> Factory:
    return lambda session, prices: Door(shipped.rules(), None, door_settings_of(name))


def _tiers(profile: str, only_cold: bool) -> Factory:
    return lambda session, prices: Tiers(shipped.rules(profile), only_cold)


def installed(
    prices: Prices, auto: bool, rules: Ruleset | None = None, model: NeedModel | None = None, soon: NeedModel | None = None,
    most: float = AUTO_MISSES,
) -> Policy:  # fmt: skip
    """Return the policy of an installation: the door, and compactions; with `auto` also unrequested ones, within `most` look-ups in 100
    requests. `rules`, `model`, `soon`: instead of the shipped ones."""
    rules, model = rules or shipped.rules(), model or shipped.need_model()
    by_itself: dict[str, Any] = {"cold": True, "long": LONG, "most": most} if auto else {}
    return Door(rules, Compactor(prices, model, rules, soon=soon, **by_itself), door.Settings(rules.say_once, rules.shape))


DEFAULT, DEFAULT_AUTO, NOTHING = "default", "default+auto", "nothing"
# The policies with which tables begin.
INSTALLED = (DEFAULT, DEFAULT_AUTO)
# name -> (factory, description): the default installation, its parts, and the host's own way.
USUAL: Known = {
    DEFAULT: (lambda session, prices: installed(prices, auto=False), "what PopKit does without being asked: door, and compact"),
    DEFAULT_AUTO: (
        lambda session, prices: installed(prices, auto=True),
        "what it does after `popkit auto on`: door, compact-cold, and where a prompt finds it long",
    ),
    NOTHING: (lambda session, prices: Policy(), "clears nothing; the host's compactions, with summariser and files put back"),
    "door": (_door("any+safe"), "clears nothing; results enter without noise, and only with what is new to the context"),
    "compact": (_compact(False), "compacts without a model where the recorded session was compacted"),
    "compact-cold": (_compact(True), "the same, and also where a prompt finds the cache cold and it pays"),
    "auto": (_auto, "results that cost more to keep than to clear, by the chance of needing them again and the cache"),
    "microcompact-60m": (lambda session, prices: Microcompact(), "Claude Code: after an hour, all but the last 5"),
}
# The same with other settings.
POLICIES: Known = {
    **USUAL,
    "door-reads": (_door("reads+safe"), "clears nothing; results enter without noise, and files that are read again only with what is new"),
    "door-strong": (_door("any+strong"), "clears nothing; the same, and only the informative lines of long outputs enter"),
    "spec": (_tiers("spec", False), "results that have expired by the tiers, at once"),
    "spec-cold": (_tiers("spec", True), "results that have expired by the tiers, when the cache is cold"),
    "conservative": (_tiers("conservative", False), "tiers that live twice as long, at once"),
    "conservative-cold": (_tiers("conservative", True), "tiers that live twice as long, when the cache is cold"),
    "aggressive": (_tiers("aggressive", False), "tiers that live half as long, at once"),
    "aggressive-cold": (_tiers("aggressive", True), "tiers that live half as long, when the cache is cold"),
}


def described(name: str, known: Known = POLICIES) -> str:
    """Return a policy's description in a line; own_policies.PolicyUnusable for an unknown name."""
    if own_policies.is_own(name):
        return own_policies.load(name).described
    if name in known:
        return known[name][1]
    raise own_policies.PolicyUnusable(
        f"unknown policy {name}. Known: {', '.join(known)}. One of your own is named module:Class, or path/to/file.py:Class."
        " The rules of other tools are in benchmarks/lab/tables.py of PopKit's repository"
    )


def policy_of(name: str, session: Session, prices: Prices, known: Known = POLICIES) -> Policy:
    """Return the policy of a name that `described` knows, for a session. Only a known policy may look at the session."""
    return CheckedPolicy(own_policies.load(name).make) if own_policies.is_own(name) else known[name][0](session, prices)


def score(name: str, session: Session, prices: Prices, known: Known = POLICIES) -> measure.Score:
    """Return the score of a session under a policy that `described` knows; PolicyFailed where a user's own policy failed."""
    with own_policies.printing_to_stderr():
        policy = policy_of(name, session, prices, known)
        try:
            return measure.score(session, policy, prices)
        finally:
            if isinstance(policy, CheckedPolicy):
                policy.end()
