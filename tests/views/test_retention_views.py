"""What people read of retention, from answers of the Controller."""

from __future__ import annotations

from pathlib import Path

import pytest

from popkit_retention.core import text
from popkit_retention.governance import answers as governance
from popkit_retention.governance import collection, domains
from popkit_retention.governance.views import (
    archive_views,
    collection_views,
    explanation_views,
    hold_views,
    log_views,
    policy_views,
    verdict_views,
    wording,
)
from tests.cli.played import WIDTH
from tests.views import retention_answers as answers
from tests.views.retention_answers import HOSTILE, NOW, at, thing

GOLDENS = Path(__file__).parent / "goldens" / "retention"
COMMAND = "popkit retention"
DEFAULTS = {"revision": 0, "memory": answers.policy(), "rag": answers.policy()}
FULL = {
    "policy": answers.policy(older_than_days=90, keep_session_ids=[f"session-{number}" for number in range(12)], auto_gc=True),
    "counts": {"eligible": 5_000, "protected": 1_210, "total": 7_710}, "left_out": 1_500, "marked": 12, "due_at": at(-0.2), "holds": 2,
    "reasons": {"within_retention_period": 1_000, "protected_session": 200, "on_hold": 10},
    "soon": {"count": 130, "first_at": at(-2.5)},
}  # fmt: skip
APPLIED = {
    "domain": "rag", "counts": {"eligible": 3, "protected": 3, "total": 7}, "truncated": True, "left_out": 1,
    "policy_applied": answers.policy(older_than_days=1, limit=3),
    "eligible": [thing("abcdefgh", 40), thing("bcdefghi", 3), thing("cdefghij", 2)],
    "protected": [thing("defghijk", 0.1, "", "within_retention_period"), thing("efghijkl", 9, "", "on_hold", "protected_session"),
                  {**thing("fghijklm", 9, "", "invalid_timestamp"), "created_at": None}],
}  # fmt: skip
LABELS = {"abcdefgh": {"label": "Read src/a.ts"}, "bcdefghi": {"label": HOSTILE}, "efghijkl": {"label": "Bash npm test"}}
VIEWS = {
    "show": policy_views.shown(answers.status(**FULL), NOW, COMMAND),
    "show-fresh": policy_views.shown({**answers.status(), "revision": 0, "archives": {"count": 0, "bytes": 0}}, NOW, COMMAND),
    "show-unavailable": policy_views.shown(answers.status(unavailable="the store cannot be reached: " + HOSTILE), NOW, COMMAND),
    "set": policy_views.configured(
        DEFAULTS,
        [
            {"domain": "memory", "revision": 4, "policy": answers.policy(older_than_days=3650, keep_session_ids=["a", "b"])},
            {"domain": "rag", "revision": 5, "policy": answers.policy(auto_gc=True)},
        ],
        COMMAND,
    ),
    "set-nothing": policy_views.configured(
        DEFAULTS, [{"domain": "rag", "revision": 4, "policy": answers.policy()}], COMMAND
    ),
    "rollback": policy_views.rolled_back(
        2, DEFAULTS, {"revision": 5, "domains": ["rag"], "rag": answers.policy(limit=9)}, COMMAND
    ) + policy_views.rolled_back(2, None, {"revision": 5, "domains": ["rag"], "rag": answers.policy()}, COMMAND)
    + policy_views.rolled_back(2, DEFAULTS, {"revision": 5, "domains": []}, COMMAND),
    "history": policy_views.history(
        [
            {"revision": 2, "at": at(1), "by": "tool", "domain": "rag", "changed": {"vacuum": [False, True]}, "rolled_back_to": 1},
            {"revision": 1, "at": at(3), "by": "user", "domain": "memory",
             "changed": {"source_types": [["context", "thought"], ["context"]]}},
            {"revision": 1, "at": at(3), "by": "user", "domain": "rag", "changed": {}},
        ],
        NOW, COMMAND,
    ) + policy_views.history([], NOW, COMMAND),
    "apply": verdict_views.applied(APPLIED, LABELS, NOW, 2)
    + verdict_views.applied({**APPLIED, "counts": {"eligible": 0, "protected": 0, "total": 0}}, {}, NOW, 2),
    "gc-dry-run": collection_views.collected(answers.collection(True), NOW, 20, COMMAND),
    "gc": collection_views.collected(answers.collection(False), NOW, 1, COMMAND),
    "undo": collection_views.unmarked([{"domain": "memory", "id": "m3fa91c"}, {"domain": "rag", "id": "abcdefgh"}]),
    "holds": hold_views.holds(
        [
            answers.hold(), answers.hold("hxxxxx2", scope="project", target="shop-0123456789ab", until=None, why=HOSTILE),
            answers.hold("hyyyyy3", released_at=at(1)), answers.hold("hzzzzz4", until=at(2), in_force=False),
        ],
        NOW, True, COMMAND,
    ) + hold_views.holds([], NOW, False, COMMAND) + hold_views.held([answers.hold()], NOW, COMMAND)
    + hold_views.released(answers.hold(released_at=at(0)), NOW),
    "archives": archive_views.archives(
        [
            {"archive_id": "memory-20261122T233000Z-k3f9a2", "domain": "memory", "created_at": at(2), "resource_count": 1, "note": HOSTILE,
             "total_size_bytes": 28},
            {"archive_id": "rag-20261122T233000Z-k3f9a2", "domain": "rag", "problem": "/x/manifest.json is missing"},
        ],
        NOW, COMMAND,
    ) + archive_views.archives([], NOW, COMMAND)
    + archive_views.archived(
        [{"archive_id": "rag-20261122T233000Z-k3f9a2", "domain": "rag", "resource_count": 1_200, "total_size_bytes": 3_000_000,
          "manifest_path": "/home/user/.claude/popkit/data/archive/rag-20261122T233000Z-k3f9a2/manifest.json"}], COMMAND)
    + archive_views.restored({"domain": "rag", "restored": ["a"], "already": ["b", "c"], "damaged": ["d"]})
    + archive_views.restored({"domain": "rag", "restored": [], "already": ["b", "c"]}),
    "verify": log_views.verified({"ok": True, "problems": [], "log_entries": 1, "archives": 2})
    + log_views.verified({"ok": False, "problems": [{"where": "log", "what": "entry 3 was changed: " + HOSTILE}],
                                "log_entries": 3_000, "archives": 1}),
    "log": log_views.logged(answers.LOG, NOW) + log_views.logged([], NOW),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_what_people_read(golden, name: str) -> None:
    lines = text.laid_out(VIEWS[name])
    assert all(len(line) <= WIDTH or line.startswith("  popkit") for line in lines)
    assert not set("\x1b\x07\u202e\u200b\U000e0041\r\n\t") & set("".join(lines)), "no hostile text gets through"
    golden(GOLDENS / f"{name}.txt", "\n".join(lines).strip("\n") + "\n")


STATES = {
    "eligible": {},
    "kept": {"state": "kept", "reasons": ["within_retention_period"], "created_at": at(20), "since": at(20),
             "next": {"what": "eligible", "at": at(-10)}},
    "young": {"state": "kept", "reasons": ["invalid_timestamp"], "created_at": None, "since": None, "next": None},
    "marked": {"state": "marked", "since": at(0.5), "next": {"what": "deleted", "at": at(-0.5)}, "marked": {"at": at(0.5), "by": "job"}},
    "due": {"state": "marked", "since": at(2), "next": {"what": "deleted", "at": at(1)}, "marked": {"at": at(2), "by": "tool"}},
    "used": {"state": "marked", "reasons": ["within_retention_period", "used_since_marked"], "since": at(0.5),
             "next": {"what": "unmarked", "at": None}, "marked": {"at": at(0.5), "by": "user"}},
    "held": {"state": "on_hold", "reasons": ["on_hold"], "since": at(3),
             "next": {"what": "hold_ends", "at": at(-9)}, "holds": [answers.hold()]},
    "placeholder": {"state": "kept", "reasons": ["placeholder_in_transcript"], "next": None, "label": HOSTILE, "project": HOSTILE,
                    "placeholders": ["/home/u/.claude/projects/shop/5e551017-0000-4000-8000-000000000001.jsonl"]},
}  # fmt: skip


def test_what_people_read_of_one_thing(golden) -> None:
    policy = answers.policy()
    rows = [line for state in STATES.values() for line in explanation_views.explained(answers.explained(**state), policy, NOW, COMMAND)]
    lines = text.laid_out(rows)
    assert all(len(line) <= WIDTH for line in lines)
    assert not set("\x1b\x07\u202e\u200b") & set("".join(lines))
    golden(GOLDENS / "explain.txt", "\n".join(lines).strip("\n") + "\n")


def test_every_reason_has_words() -> None:
    """A code with an underscore in it would be one that nobody has put into words."""
    codes = [value for module in (domains, collection) for name, value in vars(module).items() if name.isupper() and isinstance(value, str)]
    assert len(codes) >= 12
    phrases = [wording.reason(code, 30) for code in codes]
    assert not [each for each in phrases if "_" in each and "keep_" not in each and "source_types" not in each]
    assert wording.reason("within_retention_period", 1) == "younger than 1 day"
    assert wording.reason("older_than_retention_period", 2.5) == "older than 2.5 days"
    assert wording.reason("a_reason\x1b of tomorrow", 1) == "a reason of tomorrow"


def test_every_state_and_everything_that_can_come_next_has_words() -> None:
    states = (governance.HELD, governance.KEPT, governance.READY, governance.MARKED)
    coming = (governance.TO_BE_ELIGIBLE, governance.TO_BE_MARKED, governance.TO_BE_DELETED, governance.TO_BE_UNMARKED, governance.HOLD_ENDS)
    for state in states:
        for what in coming:
            for when in (None, at(-2), at(2)):
                answer = answers.explained(state=state, next={"what": what, "at": when})
                assert explanation_views.explained(answer, answers.policy(), NOW, COMMAND)
