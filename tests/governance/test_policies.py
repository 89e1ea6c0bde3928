"""Policies: bounds, what is adjusted and what is refused, frozen values, isolated domains. The parameters of one call: what it names wins
over the policy, within the bounds; what is kept stays kept."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings

from popkit_retention.governance import BadPolicy, BadRequest
from popkit_retention.governance.domains.rules import apply_rules
from popkit_retention.governance.gc_parameters import GcParams, resolve_gc_params_with_policy, validated_gc_args
from popkit_retention.governance.policies import DEFAULT_POLICY, KEYS, SOURCE_TYPES, RetentionPolicy, check_domain, from_json, merged
from tests.examples import examples
from tests.governance import hostile


def test_the_defaults_are_the_specifications():
    assert DEFAULT_POLICY.to_json() == {
        "older_than_days": 30,
        "source_types": ["context", "action", "thought"],
        "keep_session_ids": [],
        "keep_context_ids": [],
        "limit": 5000,
        "vacuum": False,
        "auto_gc": False,
    }


@pytest.mark.parametrize("key", KEYS)
def test_no_value_of_a_policy_can_be_changed(key: str):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(DEFAULT_POLICY, key, 1)
    assert isinstance(hash(DEFAULT_POLICY), int), "its values are frozen too"


def test_a_list_that_was_given_can_change_without_the_policy():
    sessions = ["a"]
    policy, _ = merged(DEFAULT_POLICY, {"keep_session_ids": sessions})
    sessions.append("b")
    assert policy.keep_session_ids == ("a",)


_ADJUSTED = [
    ("older_than_days", 0, 1),
    ("older_than_days", -1, 1),
    ("older_than_days", 0.5, 1),
    ("older_than_days", 3651, 3650),
    ("older_than_days", 1e308, 3650),
    ("older_than_days", 10**400, 3650),
    ("older_than_days", -(10**400), 1),
    ("limit", 0, 1),
    ("limit", -5, 1),
    ("limit", 20_001, 20_000),
    ("limit", 1e308, 20_000),
    ("limit", 10**400, 20_000),
    ("limit", 2.5, 2),
    ("source_types", ["context", "audit"], ("context",)),
    ("source_types", ["thought", "thought"], ("thought",)),
    ("source_types", ["thought", 5, None, ["context"]], ("thought",)),
    ("source_types", [], SOURCE_TYPES),
    ("source_types", ["audit"], SOURCE_TYPES),
    ("keep_session_ids", ["a", "b", "a"], ("a", "b")),
    ("keep_context_ids", [3, 3, 1], (3, 1)),
]


@pytest.mark.parametrize(("key", "given", "kept"), _ADJUSTED, ids=hostile.numbered(given for _, given, _ in _ADJUSTED))
def test_what_a_policy_cannot_hold_as_it_is_comes_back_as_adjusted(key: str, given: object, kept: object):
    policy, adjusted = merged(DEFAULT_POLICY, {key: given})
    assert getattr(policy, key) == kept
    assert [(change.key, change.given) for change in adjusted] == [(key, given)]
    assert adjusted[0].kept == (list(kept) if isinstance(kept, tuple) else kept)
    assert adjusted[0].why


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("older_than_days", 1),
        ("older_than_days", 3650),
        ("older_than_days", 1.5),
        ("limit", 1),
        ("limit", 20_000),
        ("limit", 5.0),
        ("source_types", ["thought", "context"]),
        ("keep_session_ids", ["é", "a b"]),
        ("keep_context_ids", [2**53 - 1]),
        ("vacuum", True),
        ("auto_gc", True),
    ],
)
def test_what_is_within_the_bounds_is_kept_as_it_is(key: str, given: object):
    policy, adjusted = merged(DEFAULT_POLICY, {key: given})
    assert adjusted == []
    assert policy.to_json()[key] == given


_WRONG = [
    *[(key, value) for key in ("older_than_days", "limit") for value in hostile.WRONG_NUMBERS],
    *[(key, value) for key in ("vacuum", "auto_gc") for value in (*hostile.WRONG_NUMBERS, 0, 1, "true") if not isinstance(value, bool)],
    *[(key, value) for key in ("source_types", "keep_session_ids", "keep_context_ids") for value in (None, True, 5, "context", {}, 1e308)],
    *[("keep_session_ids", [value]) for value in hostile.VALUES if value not in ("30", "Infinity")],
    *[("keep_session_ids", [value]) for value in ("x" * 201, "a\nb", "a\0b", "\u202e")],
    *[("keep_context_ids", [value]) for value in hostile.VALUES if value is True or value != 1],
    ("keep_session_ids", [str(n) for n in range(10_001)]),
    ("keep_context_ids", list(range(1, 10_002))),
]


@pytest.mark.parametrize("key", dict(_WRONG))
def test_a_value_of_a_wrong_type_is_refused_and_the_message_names_its_key(key: str):
    for wrong in (value for name, value in _WRONG if name == key):
        with pytest.raises(BadPolicy, match=key) as refused:
            merged(DEFAULT_POLICY, {key: wrong})
        assert str(refused.value).isprintable(), wrong
        assert len(str(refused.value)) < 200, wrong


@pytest.mark.parametrize("config", [None, 5, "limit", ["limit"], True])
def test_what_is_no_object_is_refused(config: object):
    with pytest.raises(BadPolicy, match="object"):
        merged(DEFAULT_POLICY, config)
    with pytest.raises(BadRequest):
        validated_gc_args(config)


_UNKNOWN = ["", "Limit", "limit ", "__class__", 5, None, "\x1b[31m", "x" * 10_000, 10**5000]


@pytest.mark.parametrize("key", _UNKNOWN, ids=hostile.numbered(_UNKNOWN))
def test_an_unknown_key_is_refused_and_the_known_ones_are_named(key: object):
    with pytest.raises(BadPolicy, match="older_than_days") as refused:
        merged(DEFAULT_POLICY, {key: 1})
    assert str(refused.value).isprintable()


_FOREIGN = ["", "Memory", "audit", None, 5, True, ["rag"], "rag\0", b"rag", 10**5000]


@pytest.mark.parametrize("domain", _FOREIGN, ids=hostile.numbered(_FOREIGN))
def test_there_are_two_domains_and_no_other(domain: object):
    with pytest.raises(BadPolicy, match="memory, rag"):
        check_domain(domain)
    assert [check_domain(each) for each in ("memory", "rag")] == ["memory", "rag"]


@settings(max_examples=examples(50, 3_000))
@given(hostile.policies, hostile.configs)
def test_any_configuration_gives_a_policy_within_its_bounds_or_is_refused(policy: RetentionPolicy, config: dict):
    try:
        changed, adjusted = merged(policy, config)
    except BadPolicy:
        return
    assert 1 <= changed.older_than_days <= 3650
    assert 1 <= changed.limit <= 20_000
    assert isinstance(changed.limit, int)
    assert changed.source_types
    assert set(changed.source_types) <= set(SOURCE_TYPES)
    assert all(getattr(changed, key) == getattr(policy, key) for key in KEYS if key not in config), "what was not named stays"
    assert {change.key for change in adjusted} <= set(config)


@settings(max_examples=examples(50, 3_000))
@given(hostile.policies, hostile.configs)
def test_what_was_clamped_once_is_clamped_no_more(policy: RetentionPolicy, config: dict):
    try:
        once, _ = merged(policy, config)
    except BadPolicy:
        return
    assert merged(policy, once.to_json()) == (once, [])
    assert from_json(json.loads(json.dumps(once.to_json()))) == once


@pytest.mark.parametrize(
    "stored",
    [None, {}, [], {"limit": 5}, {**DEFAULT_POLICY.to_json(), "more": 1}, {**DEFAULT_POLICY.to_json(), "limit": 0},
     {**DEFAULT_POLICY.to_json(), "limit": "5"}],
)  # fmt: skip
def test_a_stored_policy_is_read_strictly(stored: object):
    with pytest.raises(BadPolicy):
        from_json(stored)


# --- the parameters of one call ---------------------------------------------------------------------------------------------------------

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


def test_parameters_are_frozen_and_leave_the_policy_as_it_is():
    params = _resolved({"limit": 3})
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.limit = 4
    assert POLICY.limit == 11


@settings(max_examples=examples(50, 2_000))
@given(hostile.policies, hostile.configs, hostile.resources)
def test_no_arguments_take_away_what_the_policy_keeps(policy: RetentionPolicy, raw: dict, resources: list):
    try:
        params = _resolved(raw, policy)
    except BadRequest:
        return
    assert set(policy.keep_session_ids) <= set(params.keep_session_ids)
    assert set(policy.keep_context_ids) <= set(params.keep_context_ids)
    by_id = {resource.id: resource for resource in resources}
    for verdict in apply_rules(params, resources, hostile.NOW).eligible:
        assert not set(by_id[verdict.id].sessions) & set(policy.keep_session_ids)
        assert by_id[verdict.id].context_id not in policy.keep_context_ids
