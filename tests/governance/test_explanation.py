"""What `explain` says of one resource in each state of its life."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.utils.archive.deletion import GRACE_S, Mark
from hooks.utils.archive.holds import ITEM, PROJECT, SESSION, Hold
from popkit_retention.governance import NotThere
from popkit_retention.governance.answers import Explanation, Next, explain
from popkit_retention.governance.policies import DEFAULT_POLICY
from tests.governance.stored import DAY, NOW, KeptDomain, Thing

OLD, YOUNG = NOW - 100 * DAY, NOW - 10 * DAY


@pytest.fixture
def domain() -> KeptDomain:
    return KeptDomain({"old": Thing(at=OLD), "young": Thing(at=YOUNG)})


def said(domain: KeptDomain, id: str = "old", **policy: object) -> Explanation:
    return explain(domain, id, replace(DEFAULT_POLICY, **policy), NOW)


def hold(scope: str, target: str, until: float | None = None, at: float = NOW - DAY) -> Hold:
    return Hold(f"hold-{target}-{until}", scope, target, "Ada", "the audit", at, until)


def test_what_is_young_is_kept_until_the_policys_days_are_over(domain: KeptDomain):
    told = said(domain, "young")
    assert (told.state, told.reasons, told.since) == ("kept", ("within_retention_period",), YOUNG)
    assert told.next == Next("eligible", YOUNG + 30 * DAY)
    assert said(domain, "young", older_than_days=45).next == Next("eligible", YOUNG + 45 * DAY)


def test_what_is_old_is_eligible_since_its_days_were_over_and_marked_next(domain: KeptDomain):
    told = said(domain)
    assert (told.state, told.reasons, told.since, told.next) == (
        "eligible",
        ("older_than_retention_period",),
        OLD + 30 * DAY,
        Next("marked", None),
    )


def test_what_is_marked_is_deleted_a_day_later(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    told = said(domain)
    assert (told.state, told.since, told.next) == ("marked", NOW - 5, Next("deleted", NOW - 5 + GRACE_S))
    assert told.mark == Mark("old", NOW - 5, "job")


def test_what_is_marked_and_kept_now_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    told = said(domain, older_than_days=365)
    assert (told.state, told.reasons, told.next) == ("marked", ("within_retention_period",), Next("unmarked", None))
    domain.things["old"].placeholders = ["/home/dev/session-1.jsonl"]
    told = said(domain)
    assert (told.reasons, told.next) == (("placeholder_in_transcript",), Next("unmarked", None))


def test_what_was_touched_after_its_mark_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], OLD - DAY, "job")
    told = said(domain)
    assert (told.reasons, told.next) == (("older_than_retention_period", "used_since_marked"), Next("unmarked", None))


def test_every_rule_that_speaks_is_named_the_one_that_decides_first(domain: KeptDomain):
    domain.things["young"].pinned = True
    domain.things["young"].placeholders = ["/home/dev/session-1.jsonl"]
    told = said(domain, "young", keep_session_ids=("session-1",), source_types=("thought",))
    assert told.reasons == (
        "pinned",
        "protected_session",
        "source_type_not_in_policy",
        "within_retention_period",
        "placeholder_in_transcript",
    )
    assert (told.state, told.next) == ("kept", None), "no date ends this"
    assert told.placeholders == ["/home/dev/session-1.jsonl"]


def test_holds_are_named_and_the_last_to_end_says_what_comes_next(domain: KeptDomain):
    domain.add_hold(hold(ITEM, "old", NOW + DAY, at=NOW - 3 * DAY))
    domain.add_hold(hold(SESSION, "session-1", NOW + 2 * DAY))
    domain.add_hold(hold(ITEM, "young"))
    domain.add_hold(hold(ITEM, "old", NOW - 1))
    told = said(domain)
    assert [(each.scope, each.target) for each in told.holds] == [("item", "old"), ("session", "session-1")]
    assert (told.state, told.reasons, told.since, told.next) == ("on_hold", ("on_hold",), NOW - 3 * DAY, Next("hold_ends", NOW + 2 * DAY))
    domain.add_hold(hold(PROJECT, "shop"))
    assert said(domain).next is None, "one hold has no end"


def test_what_is_held_after_it_was_marked_is_unmarked_next(domain: KeptDomain):
    domain.mark(["old"], NOW - 5, "job")
    domain.add_hold(hold(ITEM, "old"))
    assert (said(domain).state, said(domain).next) == ("on_hold", Next("unmarked", None))


def test_what_has_no_time_is_kept_and_nothing_is_made_up(domain: KeptDomain):
    domain.things["old"].at = None
    told = said(domain)
    assert (told.state, told.reasons, told.since, told.next) == ("kept", ("invalid_timestamp",), None, None)


def test_what_is_not_stored_is_not_there(domain: KeptDomain):
    with pytest.raises(NotThere, match="nothing is stored under gone in rag"):
        said(domain, "gone")


def test_as_json_its_times_are_iso_8601(domain: KeptDomain):
    domain.mark(["old"], NOW, "job")
    domain.add_hold(hold(ITEM, "old", NOW + DAY))
    told = said(domain).to_json()
    assert told == {
        "domain": "rag", "id": "old", "label": "Thing old", "project": "shop", "session": "session-1", "bytes": 4,
        "created_at": "2026-08-14T23:30:00.000Z", "state": "on_hold", "reasons": ["on_hold"], "since": "2026-11-21T23:30:00.000Z",
        "next": {"what": "unmarked", "at": None},
        "holds": [{"id": f"hold-old-{NOW + DAY}", "scope": "item", "target": "old", "who": "Ada", "why": "the audit",
                   "created_at": "2026-11-21T23:30:00.000Z", "until": "2026-11-23T23:30:00.000Z"}],
        "marked": {"at": "2026-11-22T23:30:00.000Z", "by": "job"}, "placeholders": [], "stands": "It is kept.",
    }  # fmt: skip
