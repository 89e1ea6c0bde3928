"""States of the policy file, as a change of one domain makes them."""

from __future__ import annotations

from dataclasses import replace

from hooks.utils.archive.content import stamp
from popkit_retention.governance.policies import RetentionPolicy
from popkit_retention.governance.policy_file import State


def changed(state: State, domain: str, policy: RetentionPolicy, now: float) -> State:
    """The next revision, with this policy of a domain since `now` (seconds)."""
    return replace(state.with_policies({domain: policy}), revision=state.revision + 1, updated_at=stamp(now))
