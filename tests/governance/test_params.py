"""What a call says of itself wins over the policy, within the bounds; what is kept stays kept."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings

from popkit_retention.governance.errors import BadPolicy, BadRequest
from popkit_retention.governance.policies import (
    DEFAULT_POLICY,
    KEYS,
    GcParams,
    RetentionPolicy,
    resolve_gc_params_with_policy,
    validated_gc_args,
)
from popkit_retention.governance.rules import apply_rules
from tests.examples import examples
from tests.governance import hostile

POLICY = RetentionPolicy(7, ("thought",), ("s1",), (5,), 11, vacuum=True, auto_gc=True)


def _resolved(raw: dict, policy: RetentionPolicy = POLICY) -> GcParams:
    return resolve_gc_params_with_policy("rag", raw, validated_gc_args(raw), policy)


def test_what_a_call_leaves_out_is_the_policys():
    params = _resolved({})
    assert {key: getattr(params, key) for key in KEYS} == vars(POLICY)
    assert params.domain == "rag"
    assert params.to_json() == {**POLICY.to_json(), "domain": "rag"}


@pytest.mark.parametrize(
    ("key", "value"), [("older_than_days", 1), ("older_than_days", 3650), ("limit", 20_000), ("vacuum", False), ("auto_gc", False)]
)
def test_what_a_call_says_wins(key: str, value: object):
    assert getattr(_resolved({key: value}), key) == value


def test_source_types_that_a_call_names_win():
    assert _resolved({"source_types": ["context", "action"]}).source_types == ("context", "action")


def test_what_a_call_keeps_is_added_to_what_the_policy_keeps():
    params = _resolved({"keep_session_ids": ["s2", "s1", "s2"], "keep_context_ids": []})
    assert params.keep_session_ids == ("s1", "s2")
    assert params.keep_context_ids == (5,)


def test_a_default_of_the_validation_does_not_win_over_the_policy():
    assert resolve_gc_params_with_policy("rag", {}, {"limit": 5_000, "vacuum": False}, POLICY).limit == 11


def test_what_was_given_but_not_validated_is_refused():
    with pytest.raises(BadRequest, match="not validated"):
        resolve_gc_params_with_policy("rag", {"limit": 3}, {}, POLICY)


_REFUSED = [
    ("older_than_days", 0),
    ("older_than_days", 3651),
    ("older_than_days", 1e308),
    ("limit", 0),
    ("limit", -1),
    ("limit", 20_001),
    ("limit", 2.5),
    ("limit", 10**400),
    ("source_types", []),
    ("source_types", ["context", "audit"]),
    *[("limit", value) for value in hostile.WRONG_NUMBERS],
    *[("vacuum", value) for value in (None, 0, 1, "true")],
    ("keep_session_ids", [5]),
    ("keep_context_ids", ["5"]),
    ("keep_context_ids", 5),
    ("limits", 5),
    ("domain", "rag"),
]


@pytest.mark.parametrize(("key", "value"), _REFUSED, ids=hostile.numbered(value for _, value in _REFUSED))
def test_what_a_policy_would_clamp_a_call_is_refused(key: str, value: object):
    with pytest.raises(BadRequest, match=key):
        _resolved({key: value})


@pytest.mark.parametrize("args", [None, [], "limit", 5])
def test_arguments_that_are_no_object_are_refused(args: object):
    with pytest.raises(BadRequest):
        validated_gc_args(args)


def test_an_unknown_domain_is_refused():
    with pytest.raises(BadPolicy):
        resolve_gc_params_with_policy("audit", {}, {}, DEFAULT_POLICY)


def test_parameters_are_frozen_and_leave_the_policy_as_it_is():
    params = _resolved({"limit": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.limit = 4
    assert POLICY.limit == 11


@settings(max_examples=examples(50, 2_000))
@given(hostile.policies, hostile.configs, hostile.resources)
def test_no_arguments_take_away_what_the_policy_keeps(policy: RetentionPolicy, raw: dict, found: list):
    try:
        params = _resolved(raw, policy)
    except BadRequest:
        return
    assert set(policy.keep_session_ids) <= set(params.keep_session_ids)
    assert set(policy.keep_context_ids) <= set(params.keep_context_ids)
    by_id = {each.id: each for each in found}
    for verdict in apply_rules(params, found, hostile.NOW).eligible:
        assert not set(by_id[verdict.id].sessions) & set(policy.keep_session_ids)
        assert by_id[verdict.id].context_id not in policy.keep_context_ids
