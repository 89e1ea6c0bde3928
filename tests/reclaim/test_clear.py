"""Clear by lifetime and grace (profile `spec`): which results leave, what stays in their place, and when the sum says no. What `auto` takes
is in test_clear_auto.py."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.placeholder import placeholder_tokens
from tests.reclaim.shops import EXPIRED, LATELY, SESSION, Shop, Talk, assert_only_contents_changed, code, worked

PRESERVED = {"asked", "failed"}


def _takes(shop: Shop, before: bytes, **asked) -> set[str]:
    """What a clear takes; nothing else in the transcript is different."""
    _, done = shop.clear(**asked)
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(done.handles) if done else set())
    shop.assert_state_follows()
    return set(shop.cleared())


# --- which ------------------------------------------------------------------------------------------------------------------------

RULES = {
    "what expired and is past its grace": ({}, EXPIRED),
    "now: what expired lately too": ({"now": True}, EXPIRED | LATELY),
    "a tier: live ones of it too": ({"tier": "medium"}, {"read-old", "read-app", "read-lib"}),
    "another tier": ({"tier": "session"}, {"old-test", "new-test"}),
    "ids: these alone": ({"ids": ("read-lib", "found")}, {"read-lib", "found"}),
    "preserved when the tier is named": ({"tier": "preserved"}, PRESERVED),
    "preserved when they are named": ({"ids": ("asked",)}, {"asked"}),
    "a path: what expired of it": ({"pattern": "old.ts"}, {"read-old"}),
    "a path used lately": ({"pattern": "app.ts"}, set()),
    "a path used lately, now": ({"pattern": "app.ts", "now": True}, LATELY),
    "a path of live results": ({"pattern": "lib.ts", "now": True}, set()),
    "an id that is unknown": ({"ids": ("nothing",)}, set()),
}


@pytest.mark.parametrize(("asked", "gone"), RULES.values(), ids=RULES)
def test_a_clear_takes(shop: Shop, asked: dict, gone: set):
    assert _takes(shop, shop.write(worked(str(shop.project))), **asked) == gone


@pytest.mark.parametrize(
    "asked", [{"now": True}, {"tier": "medium"}, {"ids": ("read-old", "read-lib")}, {"pattern": "old.ts", "now": True}]
)
def test_what_is_pinned_never_goes(shop: Shop, asked: dict):
    before = shop.write(worked(str(shop.project)))
    assert shop.context("pin", "old.ts", "lib.ts", "app.ts").code == 0
    assert not _takes(shop, before, **asked) & {"read-old", "read-lib", "read-app"}


def test_nothing_goes_that_is_no_larger_than_its_placeholder(shop: Shop):
    before = shop.write(worked(str(shop.project)))
    gone = _takes(shop, before, tier="ephemeral") | _takes(shop, shop.transcript.read_bytes(), ids=("read-tiny", "idle-19-1"))
    assert not gone & {"read-tiny", "idle-19-1"}
    assert "read-tiny" in shop.state().expired


def test_a_dry_run_changes_nothing_and_says_the_same(shop: Shop):
    shop.write(worked(str(shop.project)))
    would = shop.context("clear", "--dry-run", "--json").json
    assert {row["id"] for row in would["results"]} == EXPIRED
    assert shop.noted().only == []
    did = shop.context("clear", "--json").json
    advised, after = would.pop("verdict"), did.pop("verdict")
    assert (advised["kind"], after["kind"]) == ("clear", "noted")
    assert {**did, "dry_run": True, "cleared": False, "later": False} == would
    assert set(shop.noted().only) == EXPIRED


# --- placeholders -----------------------------------------------------------------------------------------------------------------


def test_a_placeholder_says_what_it_was_why_it_went_and_how_it_comes_back(working: Shop):
    working.clear()
    handles, contents = working.cleared(), working.contents()
    assert contents["read-old"] == f"[PopKit cleared Read old.ts (edited later). To see it: popkit restore {handles['read-old']}]"
    assert contents["old-test"] == f"[PopKit cleared Bash npm test (a newer one follows). To see it: popkit restore {handles['old-test']}]"
    assert contents["found"] == f"[PopKit cleared Glob **/*.ts (old). To see it: popkit restore {handles['found']}]"
    for id, handle in handles.items():
        done = working.popkit("restore", handle)
        assert done.code == 0, id


def test_what_a_placeholder_is_counted_as_is_what_it_is(working: Shop):
    prospect, _ = working.clear()
    contents, calibration = working.contents(), prospect.rebuilt.state.calibration
    assert {result.id for result in prospect.plan.going} == EXPIRED
    for result in prospect.plan.going:
        assert placeholder_tokens(result, calibration, prospect.rebuilt.conversation.rules) == estimate_tokens(contents[result.id])


# --- what is left alone -----------------------------------------------------------------------------------------------------------


def test_what_was_compacted_stays_as_it_is(shop: Shop):
    talk = Talk(str(shop.project))
    talk.read("before", talk.cwd + "/a.ts", code(90))
    talk.edit("edit-before", talk.cwd + "/a.ts")
    talk.compact()
    talk.read("after", talk.cwd + "/b.ts", code(90, "b"))
    talk.edit("edit-after", talk.cwd + "/b.ts")
    before = shop.write(talk)
    assert _takes(shop, before, now=True) == {"after"}
    assert _takes(shop, shop.transcript.read_bytes().replace(b"\0", b""), tier="medium") == {"after"}


def test_what_the_host_carried_over_a_compaction_stays_as_it_is(shop: Shop):
    talk = Talk(str(shop.project))
    talk.use("kept", "Read", {"file_path": talk.cwd + "/a.ts"})
    kept = talk.result("kept", code(90), {"type": "text", "file": {"filePath": talk.cwd + "/a.ts", "content": "1"}})
    talk.compact(kept=[kept])
    talk.edit("edit-kept", talk.cwd + "/a.ts")
    talk.read("after", talk.cwd + "/b.ts", code(90, "b"))
    talk.edit("edit-after", talk.cwd + "/b.ts")
    before = shop.write(talk)
    assert "kept" in shop.state().expired, "it stands in the context"
    assert _takes(shop, before, now=True) == {"after"}


def test_side_chains_stay_as_they_are(shop: Shop):
    talk = worked(str(shop.project))
    last = talk.last
    talk.use("side", "Read", {"file_path": talk.cwd + "/side.ts"}, isSidechain=True, parent=None)
    talk.result("side", code(90), isSidechain=True)
    talk.use("side-edit", "Edit", {"file_path": talk.cwd + "/side.ts"}, isSidechain=True)
    talk.result("side-edit", "done", isSidechain=True)
    # A subagent that begins with what its parent had: the same results once more.
    talk.use("read-old", "Read", {"file_path": talk.cwd + "/old.ts"}, isSidechain=True, parent=None)
    talk.result("read-old", code(120), isSidechain=True)
    talk.say("So.", parent=last)
    before = shop.write(talk)
    _, done = shop.clear(now=True)
    after = shop.transcript.read_bytes()
    side = [line for line in before.splitlines() if b'"isSidechain": true' in line]
    assert [line for line in after.splitlines() if b'"isSidechain": true' in line] == side
    assert set(done.handles) == EXPIRED | LATELY


def test_a_branch_that_was_rewound_stays_as_it_is(shop: Shop):
    talk = Talk(str(shop.project))
    fork = talk.prompt("go")
    talk.read("rewound", talk.cwd + "/a.ts", code(90))
    talk.edit("edit-rewound", talk.cwd + "/a.ts")
    talk.prompt("no, otherwise", parent=fork)
    talk.read("taken", talk.cwd + "/b.ts", code(90, "b"))
    talk.edit("edit-taken", talk.cwd + "/b.ts")
    before = shop.write(talk)
    assert _takes(shop, before, now=True) == {"taken"}


def test_several_results_in_one_line_are_told_apart(shop: Shop):
    talk = Talk(str(shop.project))
    names = ["one", "two", "three"]
    for name in names:
        talk.use(name, "Read", {"file_path": f"{talk.cwd}/{name}.ts"}, message="m")
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": code(80, name)} for name in names]
    talk.add("user", message={"role": "user", "content": [{"type": "text", "text": "so:"}, *blocks]})
    talk.edit("edit", talk.cwd + "/one.ts")
    talk.edit("edit-three", talk.cwd + "/three.ts")
    before = shop.write(talk)
    assert _takes(shop, before, now=True) == {"one", "three"}


# --- the sum ----------------------------------------------------------------------------------------------------------------------


def test_with_a_cold_cache_it_acts(shop: Shop):
    before = shop.write(worked(str(shop.project), tokens=150_000))
    done = shop.context("clear")
    assert done.code == 0
    assert done.out.lstrip().startswith("Noted")
    assert "cold" in done.out
    assert "when the session is resumed in Claude Code 2.1.326 or later" in " ".join(done.out.split())
    assert f"claude --resume {SESSION}" in done.out
    assert set(shop.noted().only) == EXPIRED
    assert shop.transcript.read_bytes() == before


def test_a_costly_warm_cache_changes_nothing_and_names_the_command(shop: Shop):
    talk = worked(str(shop.project), tokens=150_000)
    before = shop.write(talk)
    shop.at = talk.now + 30
    done = shop.context("clear")
    assert done.code == 0
    assert done.out.lstrip().startswith("Not cleared: ")
    assert "Nothing was changed." in done.out
    assert "clear --now" in done.out
    assert shop.transcript.read_bytes() == before
    assert not (shop.home / "archive.sqlite").exists()
    assert shop.noted().only == []
    assert shop.context("clear", "--now").code == 0
    assert set(shop.noted().only) == EXPIRED | LATELY


def test_with_a_warm_cache_and_much_to_gain_it_acts(shop: Shop):
    talk = Talk(str(shop.project), tokens=1_000)
    for number in range(12):
        talk.read(f"read-{number}", f"{talk.cwd}/f{number}.ts", code(300))
        talk.edit(f"edit-{number}", f"{talk.cwd}/f{number}.ts")
    talk.idle(21)
    shop.write(talk)
    shop.at = talk.now + 30
    done = shop.context("clear", "--json")
    assert done.json["sum"]["warm"] is True
    assert done.json["cleared"] is True
    assert len(shop.noted().only) == 12


@pytest.mark.parametrize("warm", [True, False])
def test_as_data_it_gives_the_sum_and_what_went(shop: Shop, warm: bool):
    talk = worked(str(shop.project), tokens=150_000)
    shop.write(talk)
    shop.at = talk.now + 30 if warm else shop.at
    answer = shop.context("clear", "--json").json
    assert (answer["cleared"], answer["pays"], answer["sum"]["warm"]) == (not warm, not warm, warm)
    assert {row["id"] for row in answer["results"]} == EXPIRED
    assert set(shop.noted().only) == (set() if warm else EXPIRED)
    assert answer["items"] == len(EXPIRED)
    assert answer["tokens"] == answer["sum"]["leaves"] > 2_000
    assert answer["kept"]["grace"]["items"] == len(LATELY)
    assert answer["session"] == SESSION
    assert (answer["sum"]["pays_after"] > 14) is warm


@pytest.mark.parametrize("words", [["--tier", "nothing"], ["--id", ""], ["--id", "T999"], ["a", "b"], ["--tier", "short", "a.ts"]])
def test_what_is_not_known_is_an_error_and_changes_nothing(shop: Shop, words: list):
    before = shop.write(worked(str(shop.project)))
    done = shop.context("clear", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err
    assert shop.transcript.read_bytes() == before
