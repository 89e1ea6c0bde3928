"""What may be deleted: which rule decides, and the laws that no policy and no resource can break; and what `explain` says of one
resource in each state of its life."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.retention_kit.holds import ITEM, PROJECT, SESSION, Hold
from popkit_retention.core.retention_kit.marks import GRACE_S, Mark
from popkit_retention.governance import ResourceNotFound
from popkit_retention.governance.domains import rules
from popkit_retention.governance.domains.rules import DAY_S, Resource, apply_rules, created_at_of, resource_of
from popkit_retention.governance.explanation import Explanation, NextChange, explain
from popkit_retention.governance.policies import DEFAULT_POLICY, MOST_DAYS, SOURCE_TYPES, RetentionPolicy
from tests.examples import examples
from tests.governance import hostile
from tests.governance.stored import DAY, NOW, KeptDomain, Thing

OLD = NOW - 31 * DAY_S
KEEPS = RetentionPolicy(keep_session_ids=("s1",), keep_context_ids=(5,))
EXAMPLES = settings(max_examples=examples(50, 2_000))


def _reasons(policy: RetentionPolicy, *resources: Resource) -> list[tuple[str, ...]]:
    applied = apply_rules(policy, resources, NOW)
    return [verdict.reasons for verdict in (*applied.eligible, *applied.protected)]


@pytest.mark.parametrize(
    ("resource", "reasons"),
    [
        (Resource("a", OLD, "context"), ("older_than_retention_period",)),
        (Resource("a", OLD, "context", ("s1",)), ("protected_session",)),
        (Resource("a", OLD, "context", ("s2", "s1")), ("protected_session",)),
        (Resource("a", OLD, "context", (), 5), ("protected_context",)),
        (Resource("a", OLD, "audit"), ("invalid_source_type",)),
        (Resource("a", OLD, ""), ("invalid_source_type",)),
        (Resource("a", None, "context"), ("invalid_timestamp",)),
        (Resource("a", NOW, "context"), ("within_retention_period",)),
        (Resource("a", NOW + 1, "context"), ("within_retention_period",)),
        (Resource("a", OLD, "context", vetoes=("on_hold",)), ("on_hold",)),
        (
            Resource("a", None, "audit", ("s1",), 5, ("on_hold", "pinned")),
            ("on_hold", "pinned", "protected_session", "protected_context", "invalid_source_type", "invalid_timestamp"),
        ),
    ],
)
def test_each_rule_has_a_reason_and_the_first_one_decides(resource: Resource, reasons: tuple[str, ...]):
    assert _reasons(KEEPS, resource) == [reasons]


def test_at_exactly_the_age_of_the_period_it_may_go_and_a_moment_earlier_it_may_not():
    cutoff = NOW - 30 * DAY_S
    applied = apply_rules(RetentionPolicy(), [Resource("a", cutoff, "context"), Resource("b", cutoff + 0.001, "context")], NOW)
    assert applied.cutoff == cutoff
    assert [verdict.id for verdict in applied.eligible] == ["a"]


def test_a_policy_keeps_the_source_types_that_it_does_not_name():
    policy = RetentionPolicy(source_types=("thought",))
    assert _reasons(policy, Resource("a", OLD, "action"), Resource("b", OLD, "thought")) == [
        ("older_than_retention_period",),
        ("source_type_not_in_policy",),
    ]


def test_a_limit_takes_the_oldest_and_tells_how_many_it_left_out():
    resources = [Resource(f"r{n}", OLD - n, "context") for n in (3, 1, 5, 2, 4)]
    applied = apply_rules(RetentionPolicy(limit=2), resources, NOW)
    assert [verdict.id for verdict in applied.eligible] == ["r5", "r4"]
    assert (applied.left_out, applied.truncated) == (3, True)
    assert not apply_rules(RetentionPolicy(limit=5), resources, NOW).truncated


def test_resources_of_one_age_are_ordered_by_their_ids():
    resources = [Resource(id, OLD, "context") for id in "cab"]
    assert [verdict.id for verdict in apply_rules(RetentionPolicy(), resources, NOW).eligible] == ["a", "b", "c"]


@pytest.mark.parametrize(("context_id", "kept"), [(5, True), ("5", False), (True, False), (5.0, False), (None, False), ([5], False)])
def test_a_context_id_equals_only_a_number_of_its_own_type(context_id: object, kept: bool):
    resource = resource_of({"id": "a", "created_at": OLD, "source_type": "context", "context_id": context_id})
    policy = RetentionPolicy(keep_context_ids=(5, 1))
    assert (_reasons(policy, resource) == [("protected_context",)]) is kept


@pytest.mark.parametrize(("session_id", "kept"), [("5", True), (5, False), (5.0, False), (True, False), (["5"], False), ("5 ", False)])
def test_a_session_id_equals_only_the_same_text(session_id: object, kept: bool):
    resource = resource_of({"id": "a", "created_at": OLD, "source_type": "context", "session_id": session_id})
    assert (_reasons(RetentionPolicy(keep_session_ids=("5",)), resource) == [("protected_session",)]) is kept


_TIMES = [
    ("1970-01-01T00:00:10Z", 10.0),
    ("1970-01-01T00:00:10.250Z", 10.25),
    ("1970-01-01T00:00:10.250+00:00", 10.25),
    ("1970-01-01T01:00:10+01:00", 10.0),
    ("1970-01-01T00:00:10", 10.0),
    ("2026-02-21", 1_771_632_000.0),
    (0, 0.0),
    (10.5, 10.5),
    (253_402_300_799, 253_402_300_799.0),
    (253_402_300_800, None),
    (1_771_632_000_000, None),  # milliseconds
    *[(value, None) for value in (*hostile.WRONG_NUMBERS, -1, 1e308, 10**400, "yesterday", "1969-12-31T23:59:59Z", "9" * 50)],
]


@pytest.mark.parametrize(("created_at", "seconds"), _TIMES, ids=hostile.numbered(given for given, _ in _TIMES))
def test_only_a_time_that_can_be_read_is_a_time(created_at: object, seconds: float | None):
    assert created_at_of({"created_at": created_at}) == seconds


def test_what_has_no_time_at_all_is_protected():
    assert _reasons(RetentionPolicy(), resource_of({"id": "a", "source_type": "context"})) == [("invalid_timestamp",)]


@pytest.mark.parametrize("value", hostile.VALUES, ids=hostile.numbered(hostile.VALUES))
def test_what_is_no_description_of_a_resource_is_protected(value: object):
    assert _reasons(RetentionPolicy(), resource_of(value))[0][0] == "invalid_resource"
    assert apply_rules(RetentionPolicy(), [resource_of({"id": value, "created_at": OLD, "source_type": value})], NOW).eligible == []


@EXAMPLES
@given(hostile.policies, hostile.resources)
def test_each_resource_is_eligible_or_protected_or_left_out_and_says_why(policy: RetentionPolicy, resources: list[Resource]):
    applied = apply_rules(policy, resources, NOW)
    assert len(applied.eligible) + len(applied.protected) + applied.left_out == len(resources)
    ids = [verdict.id for verdict in (*applied.eligible, *applied.protected)]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {resource.id for resource in resources}
    assert all(verdict.reasons for verdict in (*applied.eligible, *applied.protected))
    assert len(applied.eligible) <= policy.limit
    assert applied.policy == policy


@EXAMPLES
@given(hostile.policies, hostile.resources)
def test_nothing_that_anything_keeps_is_ever_eligible(policy: RetentionPolicy, resources: list[Resource]):
    by_id = {resource.id: resource for resource in resources}
    for verdict in apply_rules(policy, resources, NOW).eligible:
        resource = by_id[verdict.id]
        assert not resource.vetoes
        assert not set(resource.sessions) & set(policy.keep_session_ids)
        assert resource.context_id not in policy.keep_context_ids
        assert resource.source_type in policy.source_types
        assert resource.created_at is not None
        assert resource.created_at <= NOW - policy.older_than_days * DAY_S


@EXAMPLES
@given(hostile.policies, hostile.resources)
def test_what_is_eligible_comes_oldest_first_and_nothing_left_out_is_older(policy: RetentionPolicy, resources: list[Resource]):
    applied = apply_rules(policy, resources, NOW)
    everything = apply_rules(RetentionPolicy(**{**vars(policy), "limit": 20_000}), resources, NOW).eligible
    times = [verdict.created_at for verdict in everything]
    assert times == sorted(times)
    assert applied.eligible == everything[: policy.limit]


@EXAMPLES
@given(hostile.policies, hostile.resources, st.floats(0, MOST_DAYS))
def test_a_longer_period_never_releases_more(policy: RetentionPolicy, resources: list[Resource], more: float):
    longer = RetentionPolicy(**{**vars(policy), "older_than_days": policy.older_than_days + more, "limit": 20_000})
    shorter = RetentionPolicy(**{**vars(policy), "limit": 20_000})
    before, after = ({verdict.id for verdict in apply_rules(policy, resources, NOW).eligible} for policy in (shorter, longer))
    assert after <= before


@EXAMPLES
@given(hostile.policies, hostile.resources, st.randoms(use_true_random=False))
def test_the_order_in_which_resources_come_makes_no_difference(policy: RetentionPolicy, resources: list[Resource], chance):
    mixed = list(resources)
    chance.shuffle(mixed)
    assert apply_rules(policy, mixed, NOW).eligible == apply_rules(policy, resources, NOW).eligible


@EXAMPLES
@given(hostile.policies, st.lists(st.one_of(hostile.described, st.sampled_from(hostile.VALUES))))
def test_no_description_makes_the_rules_fail(policy: RetentionPolicy, values: list[object]):
    applied = apply_rules(policy, map(resource_of, values), NOW)
    assert len(applied.eligible) + len(applied.protected) + applied.left_out == len(values)
    assert all(verdict.id and verdict.id.isprintable() for verdict in applied.eligible)


def test_the_codes_of_all_reasons_are_as_documented():
    assert set(SOURCE_TYPES) == {"context", "action", "thought"}
    codes = {value for name, value in vars(rules).items() if name.isupper() and isinstance(value, str)}
    assert codes == {
        "older_than_retention_period", "protected_session", "protected_context", "invalid_source_type", "source_type_not_in_policy",
        "invalid_timestamp", "within_retention_period", "invalid_resource", "on_hold", "pinned", "placeholder_in_transcript",
    }  # fmt: skip


# --- what `explain` says ------------------------------------------------------------------------------------------------------------------

LONG_AGO, YOUNG = NOW - 100 * DAY, NOW - 10 * DAY


@pytest.fixture
def domain() -> KeptDomain:
    return KeptDomain({"old": Thing(at=LONG_AGO), "young": Thing(at=YOUNG)})


def explained(domain: KeptDomain, id: str = "old", **policy: object) -> Explanation:
    return explain(domain, id, replace(DEFAULT_POLICY, **policy), NOW)


def hold(scope: str, target: str, until: float | None = None, at: float = NOW - DAY) -> Hold:
    return Hold(f"hold-{target}-{until}", scope, target, "Ada", "the audit", at, until)


def test_what_is_young_is_kept_until_the_policys_days_are_over(domain: KeptDomain):
    explanation = explained(domain, "young")
    assert (explanation.state, explanation.reasons, explanation.since) == ("kept", ("within_retention_period",), YOUNG)
    assert explanation.next == NextChange("eligible", YOUNG + 30 * DAY)
    assert explained(domain, "young", older_than_days=45).next == NextChange("eligible", YOUNG + 45 * DAY)


def test_what_is_old_is_eligible_since_its_days_were_over_and_marked_next(domain: KeptDomain):
    explanation = explained(domain)
    assert (explanation.state, explanation.reasons, explanation.since, explanation.next) == (
        "eligible",
        ("older_than_retention_period",),
        LONG_AGO + 30 * DAY,
        NextChange("marked", None),
    )


def test_what_is_marked_is_deleted_a_day_later(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    explanation = explained(domain)
    assert (explanation.state, explanation.since, explanation.next) == ("marked", NOW - 5, NextChange("deleted", NOW - 5 + GRACE_S))
    assert explanation.mark == Mark("old", NOW - 5, "job")


def test_what_is_marked_and_kept_now_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    explanation = explained(domain, older_than_days=365)
    assert (explanation.state, explanation.reasons, explanation.next) == (
        "marked",
        ("within_retention_period",),
        NextChange("unmarked", None),
    )
    domain.things["old"].placeholders = ["/home/dev/session-1.jsonl"]
    explanation = explained(domain)
    assert (explanation.reasons, explanation.next) == (("placeholder_in_transcript",), NextChange("unmarked", None))


def test_what_was_touched_after_its_mark_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], LONG_AGO - DAY, "job")
    explanation = explained(domain)
    assert (explanation.reasons, explanation.next) == (("older_than_retention_period", "used_since_marked"), NextChange("unmarked", None))


def test_every_rule_that_speaks_is_named_the_one_that_decides_first(domain: KeptDomain):
    domain.things["young"].pinned = True
    domain.things["young"].placeholders = ["/home/dev/session-1.jsonl"]
    explanation = explained(domain, "young", keep_session_ids=("session-1",), source_types=("thought",))
    assert explanation.reasons == (
        "pinned",
        "protected_session",
        "source_type_not_in_policy",
        "within_retention_period",
        "placeholder_in_transcript",
    )
    assert (explanation.state, explanation.next) == ("kept", None), "no date ends this"
    assert explanation.placeholders == ["/home/dev/session-1.jsonl"]


def test_holds_are_named_and_the_last_to_end_says_what_comes_next(domain: KeptDomain):
    domain.add_hold(hold(ITEM, "old", NOW + DAY, at=NOW - 3 * DAY))
    domain.add_hold(hold(SESSION, "session-1", NOW + 2 * DAY))
    domain.add_hold(hold(ITEM, "young"))
    domain.add_hold(hold(ITEM, "old", NOW - 1))
    explanation = explained(domain)
    assert [(hold.scope, hold.target) for hold in explanation.holds] == [("item", "old"), ("session", "session-1")]
    assert (explanation.state, explanation.reasons, explanation.since, explanation.next) == (
        "on_hold",
        ("on_hold",),
        NOW - 3 * DAY,
        NextChange("hold_ends", NOW + 2 * DAY),
    )
    domain.add_hold(hold(PROJECT, "shop"))
    assert explained(domain).next is None, "one hold has no end"


def test_what_is_held_after_it_was_marked_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    domain.add_hold(hold(ITEM, "old"))
    assert (explained(domain).state, explained(domain).next) == ("on_hold", NextChange("unmarked", None))


def test_what_has_no_time_is_kept_and_nothing_is_made_up(domain: KeptDomain):
    domain.things["old"].at = None
    explanation = explained(domain)
    assert (explanation.state, explanation.reasons, explanation.since, explanation.next) == ("kept", ("invalid_timestamp",), None, None)


def test_what_is_not_stored_is_not_there(domain: KeptDomain):
    with pytest.raises(ResourceNotFound, match="nothing is stored under gone in rag"):
        explained(domain, "gone")


def test_as_json_its_times_are_iso_8601(domain: KeptDomain):
    domain.mark(["old"], NOW, "job")
    domain.add_hold(hold(ITEM, "old", NOW + DAY))
    explanation = explained(domain).to_json()
    assert explanation == {
        "domain": "rag", "id": "old", "label": "Thing old", "project": "shop", "session": "session-1", "bytes": 4,
        "created_at": "2026-08-14T23:30:00.000Z", "state": "on_hold", "reasons": ["on_hold"], "since": "2026-11-21T23:30:00.000Z",
        "next": {"what": "unmarked", "at": None},
        "holds": [{"id": f"hold-old-{NOW + DAY}", "scope": "item", "target": "old", "who": "Ada", "why": "the audit",
                   "created_at": "2026-11-21T23:30:00.000Z", "until": "2026-11-23T23:30:00.000Z"}],
        "marked": {"at": "2026-11-22T23:30:00.000Z", "by": "job"}, "placeholders": [], "stands": "It is kept.",
    }  # fmt: skip
