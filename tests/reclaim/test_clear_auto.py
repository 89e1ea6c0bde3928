"""Clear under `auto`, the profile that is shipped: what is worth more gone than kept leaves, live or expired; of a large one an outline
stays."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hooks.utils.policy import selection
from hooks.utils.policy.estimate import estimate_tokens
from hooks.utils.policy.outline import outline
from hooks.utils.policy.placeholder import handle_in
from tests.hooks import processes
from tests.reclaim.shops import SESSION, Shop, Talk, assert_only_contents_changed, code, contents_of, numbered

PRESERVED = {"asked", "failed"}
NAMED = "".join(f"export const handleCheckoutStep{n} = steps.of('src/checkout/step{n}.tsx', {n * 7919});\n" for n in range(130))
FOUND = [f"packages/shop/src/part{n}.test.ts" for n in range(60)]


@pytest.fixture
def profile() -> str:
    """None is configured: what is shipped."""
    return ""


class Sized(Talk):
    """A transcript whose prompts grow by what its results hold."""

    def result(self, id: str, content, structure=None, error: bool = False, **fields) -> str:
        self.tokens += estimate_tokens(content if isinstance(content, str) else json.dumps(content))
        return super().result(id, content, structure, error, **fields)

    def rest(self, calls: int) -> None:
        """Calls that have nothing to do with what was seen before, five of them in a turn."""
        for number in range(calls // 5):
            self.prompt(f"and then part {number}")
            self.idle(5)

    def answer(self, text: str) -> None:
        """The last answer of a turn: a request that has sent all that stands before it."""
        self.tokens += 500
        self.say(text, {"input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": self.tokens - 503})


def looked(cwd: str = "/shop", idle: int = 40, **how) -> Sized:
    """A session that looked around, worked on other things for long, and has just read and edited a file. Long unused: `read-long` and
    `found` (both live), `old-test` (superseded), `read-old` (edited). Used lately: `read-app` (edited), `read-lib`. Preserved: `asked`,
    `failed`. Small: the edits, `read-tiny`."""
    talk = Sized(cwd, **how)
    talk.prompt("please fix it")
    talk.read("read-long", cwd + "/src/checkout.ts", NAMED)
    talk.read("read-old", cwd + "/old.ts", code(120))
    talk.edit("edit-old", cwd + "/old.ts")
    talk.read("read-tiny", cwd + "/tiny.ts", "x\n")
    talk.use("found", "Grep", {"pattern": "describe"})
    talk.result("found", "\n".join(FOUND), {"mode": "files_with_matches", "filenames": FOUND, "numFiles": len(FOUND)})
    talk.bash("old-test", "npm test", "".join(f"  ok {n} - adds and takes away\n" for n in range(90)))
    talk.ask("asked", "which one?", "the second " * 200)
    talk.use("failed", "mcp__demo__deploy", {"to": "shop"})
    talk.result("failed", "no such place: shop\n" * 60, "Error: " + "no such place: shop\n" * 60, error=True)
    talk.bash("new-test", "npm test", "".join(f"  ok {n} - adds and takes it away\n" for n in range(90)))
    talk.rest(idle)
    talk.read("read-lib", cwd + "/lib.ts", code(60, "lib"))
    talk.read("read-app", cwd + "/app.ts", code(60, "app"))
    talk.edit("edit-app", cwd + "/app.ts")
    talk.answer("Done.")
    return talk


LONG_UNUSED = {"read-long", "read-old", "found", "old-test", "new-test"}
LARGE = {"read-long", "found"}  # with names in them
LATELY = {"read-lib", "read-app"}


@pytest.fixture
def cold(shop: Shop) -> Shop:
    """A session whose prompt cache is cold."""
    shop.write(looked(str(shop.project)))
    return shop


def _ids(results: list) -> set[str]:
    return {result.id for result in results}


# --- what goes --------------------------------------------------------------------------------------------------------------------


def test_it_is_the_profile_that_is_shipped(cold: Shop):
    assert (cold.site().rules().profile, cold.clear(dry_run=True)[0].rules.weighs) == ("auto", True)


def test_with_a_cold_cache_what_was_long_unused_goes_and_what_was_used_lately_stays(cold: Shop):
    before = cold.transcript.read_bytes()
    live = set(cold.state().live)
    plan, done = cold.clear()
    assert set(done.handles) == LONG_UNUSED
    assert {"read-long", "new-test"} <= live
    assert_only_contents_changed(before, cold.transcript.read_bytes(), LONG_UNUSED)
    cold.assert_state_follows()
    assert _ids(plan.selection.early) == {"read-app"}, "of what has expired"
    assert plan.pays
    state = cold.state()
    assert LATELY - {"read-app"} | PRESERVED <= set(state.live)
    assert cold.archive_report() == (len(LONG_UNUSED), 1)


def test_now_takes_what_has_expired_lately_too_and_nothing_else_that_lives(cold: Shop):
    before = cold.transcript.read_bytes()
    assert set(cold.clear(now=True)[1].handles) == LONG_UNUSED | {"read-app"}
    assert_only_contents_changed(before, cold.transcript.read_bytes(), LONG_UNUSED | {"read-app"})
    cold.assert_state_follows()


def test_what_is_pinned_never_goes(cold: Shop):
    assert cold.context("pin", "src/checkout.ts", "found").code == 0
    assert set(cold.clear(now=True)[1].handles) == LONG_UNUSED - LARGE | {"read-app"}


@pytest.mark.parametrize(
    ("asked", "gone"),
    [
        ({"pattern": "checkout.ts"}, {"read-long"}),
        ({"pattern": "*.ts"}, {"read-long", "read-old"}),
        ({"pattern": "*.ts", "now": True}, {"read-long", "read-old", "read-app"}),
        ({"pattern": "lib.ts"}, set()),
        ({"ids": ("read-lib", "asked")}, {"read-lib", "asked"}),
        ({"tier": "preserved"}, PRESERVED),
        ({"tier": "session"}, {"old-test", "new-test"}),
    ],
)
def test_of_what_the_user_names_a_path_is_weighed_and_ids_and_tiers_go_whatever_they_are_worth(cold: Shop, asked: dict, gone: set):
    before = cold.transcript.read_bytes()
    plan, done = cold.clear(**asked)
    assert set(done.handles if done else {}) == gone
    needs = set(plan.selection.needs)
    assert needs == set() if plan.asked.forces else needs >= gone - {"read-app"}
    assert_only_contents_changed(before, cold.transcript.read_bytes(), gone)
    cold.assert_state_follows()


def test_what_the_user_names_leaves_an_outline_too_and_goes_by_the_user(cold: Shop):
    handle = cold.clear(ids=("read-lib", "read-long"))[1].handles["read-long"]
    notice, _, kept = cold.contents()["read-long"].partition("\n")
    assert notice == f"[PopKit cleared Read src/checkout.ts (by the user). To see it: popkit restore {handle}]"
    assert kept == outline(numbered(NAMED))


@pytest.mark.parametrize("how", [{}, {"at_end": True}, {"now": True}])
def test_what_the_model_has_not_seen_yet_stays(shop: Shop, how: dict):
    """Six results of one message, and then the session was interrupted: no request has sent them."""
    talk = looked(str(shop.project))
    names = [f"unseen-{number}" for number in range(6)]
    for name in names:
        talk.use(name, "Bash", {"command": "npm run build"}, "parallel")
    for name in names:
        talk.result(name, f"{name}\n" + "  built a part of the shop\n" * 400)
    shop.write(talk)
    assert {"unseen-0", "unseen-1"} <= set(shop.state().expired), "superseded"
    plan, done = shop.clear(**how)
    assert not set(names) & set(done.handles)
    assert plan.made.unseen == set(names)
    talk.answer("So it is built.")
    shop.write(talk)
    assert {"unseen-0", "unseen-1"} <= set(shop.clear(now=True)[1].handles)


# --- what stays in its place ------------------------------------------------------------------------------------------------------


def test_a_large_result_leaves_a_notice_and_names_that_it_held(cold: Shop):
    before = cold.contents()
    handles = cold.clear()[1].handles
    contents = cold.contents()
    age = cold.state().quiet_age(cold.state().expired["read-long"])
    assert age > 40
    notice, _, kept = contents["read-long"].partition("\n")
    assert notice == f"[PopKit cleared Read src/checkout.ts (unused for {age} calls). To see it: popkit restore {handles['read-long']}]"
    assert len(kept) > 300
    for id in LONG_UNUSED:
        notice, _, kept = contents[id].partition("\n")
        assert handle_in(notice) == handle_in(contents[id]) == handles[id]
        assert kept == outline(before[id])
        assert len(kept) <= len(before[id]) // 10
        assert all(name in before[id] for name in kept.split())
        assert bool(kept) is (id in LARGE)


def test_of_text_in_blocks_the_names_stay_too_and_the_blocks_come_back(shop: Shop):
    talk = looked(str(shop.project))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 900}}
    blocks = [{"type": "text", "text": NAMED}, picture, {"type": "text", "text": "src/picture.ts"}]
    talk.use("shown", "mcp__demo__look", {"at": "it"})
    talk.result("shown", blocks)
    talk.rest(60)
    talk.answer("So.")
    before = shop.write(talk)
    assert "shown" in shop.clear()[1].handles
    assert set(shop.contents()["shown"].partition("\n")[2].split()) >= {"handleCheckoutStep1", "src/picture.ts"}
    shop.undo()
    assert shop.transcript.read_bytes() == before
    assert shop.contents()["shown"] == blocks


def test_no_key_stays_in_an_outline(shop: Shop):
    talk = looked(str(shop.project))
    keys = ["ghp_" + "A1b2C3d4E5" * 4, "sk-ant-api03-" + "Zz9Yy8Xx7" * 12, "eyJ" + "hbGciOiJIUzI1NiJ9" * 30]
    talk.read("env", talk.cwd + "/env.ts", NAMED + "".join(f"const key{n} = '{key}';\n" for n, key in enumerate(keys)))
    talk.rest(60)
    shop.write(talk)
    assert "env" in shop.clear()[1].handles
    kept = shop.contents()["env"].partition("\n")[2]
    assert "handleCheckoutStep1" in kept
    assert not any(key[at : at + 12] in kept for key in keys for at in range(len(key) - 12))


def test_what_leaves_is_what_the_transcript_lost(cold: Shop):
    before, had = cold.state(), cold.contents()
    plan, done = cold.clear()
    contents, results = cold.contents(), {**before.live, **before.expired}
    tokens = sum(round(results[id].tokens * before.calibration) - estimate_tokens(contents[id]) for id in done.handles)
    assert done.tokens == tokens
    assert cold.ledger()["pending_tokens"] == tokens
    planned = sum(selection.gain(results[id], before.calibration, plan.rules) for id in done.handles)
    assert abs(plan.sum.leaves - planned) <= len(done.handles), "each rounded by itself"
    assert abs(done.tokens - planned) <= sum(len(had[id]) // 10 for id in done.handles) / 2.9, "the outlines were counted at their longest"


# --- back -------------------------------------------------------------------------------------------------------------------------


def test_an_undo_gives_the_file_back_byte_for_byte(cold: Shop):
    before, state = cold.transcript.read_bytes(), cold.state()
    cold.clear()
    back = cold.undo()
    assert ({record.tool_use_id for record in back.records}, back.gone, back.trouble) == (LONG_UNUSED, [], "")
    assert cold.transcript.read_bytes() == before
    cold.assert_state_follows()
    after = cold.state()
    assert (set(after.live), set(after.expired)) == (set(state.live), set(state.expired))
    assert cold.archive_report() == (len(LONG_UNUSED), 0)


def test_a_handle_and_an_id_print_the_whole_text(cold: Shop):
    handle = cold.clear()[1].handles["read-long"]
    for done in (cold.popkit("restore", handle), cold.context("restore", "T1"), cold.context("restore", "read-long")):
        assert (done.code, done.err) == (0, "")
        assert done.out.strip("\n") == numbered(NAMED).strip("\n")


def test_in_place_the_whole_text_stands_again_and_is_held(cold: Shop):
    before = cold.contents()
    cold.clear()
    cold.at += 60
    assert cold.context("restore", "read-long", "--in-place").code == 0
    assert cold.contents()["read-long"] == before["read-long"]
    assert set(cold.cleared()) == LONG_UNUSED - {"read-long"}
    assert cold.state().live["read-long"].pinned
    cold.assert_state_follows()
    assert cold.clear()[1] is None, "it is held"
    assert {record.tool_use_id for record in cold.undo().records} == LONG_UNUSED - {"read-long"}
    assert cold.contents() == before


def test_a_second_clear_right_away_takes_nothing(cold: Shop):
    cold.clear()
    once = cold.transcript.read_bytes()
    for asked in ({}, {"pattern": "*.ts"}):
        plan, done = cold.clear(**asked)
        assert (plan.selection.going, done) == ([], None)
    done = cold.context("clear")
    assert done.code == 0
    assert "Nothing to clear" in done.out
    assert cold.transcript.read_bytes() == once
    assert cold.archive_report() == (len(LONG_UNUSED), 1)


# --- the sum ----------------------------------------------------------------------------------------------------------------------


def _warm(shop: Shop, talk: Sized) -> bytes:
    before = shop.write(talk)
    shop.at = talk.now + 30
    return before


def test_a_warm_cache_that_makes_it_dear_shows_what_would_go_and_the_command_that_does_it_all_the_same(shop: Shop):
    before = _warm(shop, looked(str(shop.project), idle=120, tokens=120_000))
    done = shop.context("clear")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "Clear: not now" in said
    assert "warm: the" in said
    assert "are written again" in said
    assert "It does not pay soon enough, so nothing was changed." in said
    assert said.endswith("popkit context clear --now")
    assert shop.transcript.read_bytes() == before
    assert not (shop.home / "archive.sqlite").exists()
    planned = shop.context("clear", "--json").json
    assert (planned["cleared"], planned["pays"], planned["sum"]["warm"], planned["profile"]) == (False, False, True, "auto")
    assert planned["items"] > 0
    assert shop.context("clear", "--now").code == 0
    assert set(shop.cleared()) >= {row["id"] for row in planned["results"]} | {"read-app"}
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(shop.cleared()))
    shop.undo()
    assert shop.transcript.read_bytes() == before


def _ends_in_runs(talk: Sized) -> Sized:
    """At the end of a long prompt: runs of a test, of which the newest lives."""
    for number in range(4):
        talk.bash(f"run-{number}", "npm test", f"run {number}\n" + "  ok - adds and takes away\n" * 400)
    talk.idle(4)
    talk.answer("So.")
    return talk


def test_near_the_end_of_a_long_warm_prompt_it_pays_and_goes(shop: Shop):
    before = _warm(shop, _ends_in_runs(looked(str(shop.project), tokens=150_000)))
    done = shop.context("clear", "--json").json
    assert (done["cleared"], done["pays"], done["sum"]["warm"]) == (True, True, True)
    assert set(shop.cleared()) >= {"run-0", "run-1", "run-2"}
    assert not set(shop.cleared()) & {"read-long", "read-old", "found"}, "the prompt before them would be written again"
    assert done["sum"]["rewritten"] < 15_000
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(shop.cleared()))
    shop.assert_state_follows()


def test_at_the_end_of_a_session_no_cache_is_reckoned_with(shop: Shop):
    _warm(shop, looked(str(shop.project), tokens=150_000))
    assert shop.clear()[1] is None
    plan, done = shop.clear(at_end=True)
    assert (plan.sum.warm, plan.pays) == (False, True)
    assert set(done.handles) >= LARGE
    shop.assert_state_follows()


# --- clear, work, clear -----------------------------------------------------------------------------------------------------------


def _goes_on(shop: Shop, talk: Sized, there: int) -> None:
    """The client has loaded the cleared transcript and appends what follows."""
    at = shop.at + 10
    for number, entry in enumerate(talk.entries[there:]):
        entry["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at + 10 * number))
    with shop.transcript.open("a") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in talk.entries[there:])
    shop.at = at + 10 * len(talk.entries[there:])


def _cleared_and_gone_on(shop: Shop) -> tuple:
    """(done, calls that followed) of a session that was cleared cold and went on with the smaller prompt."""
    talk = looked(str(shop.project), tokens=60_000)
    shop.write(talk)
    done = shop.clear()[1]
    there = len(talk.entries)
    talk.tokens -= done.tokens
    talk.prompt("and now the other thing")
    talk.read("read-next", talk.cwd + "/next.ts", NAMED)
    talk.rest(60)
    talk.bash("last", "npm test", "  ok - adds and takes away\n" * 60)
    talk.answer("So.")
    _goes_on(shop, talk, there)
    return done, talk


def test_after_further_work_a_second_clear_leaves_the_placeholders_of_the_first_as_they_are(shop: Shop):
    first, _ = _cleared_and_gone_on(shop)
    contents, before = shop.contents(), shop.transcript.read_bytes()
    shop.at += 4_000
    plan, second = shop.clear()
    assert "read-next" in second.handles
    assert not set(second.handles) & set(first.handles)
    assert {id: shop.contents()[id] for id in first.handles} == {id: contents[id] for id in first.handles}
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(second.handles))
    shop.assert_state_follows()
    assert shop.archive_report() == (len(first.handles) + len(second.handles), 2)
    assert plan.sum.leaves > 0
    shop.undo()
    assert shop.transcript.read_bytes() == before
    shop.undo()
    assert shop.cleared() == {}
    shop.assert_state_follows()


def test_the_positions_of_the_second_clear_are_those_of_the_smaller_prompt(shop: Shop):
    shop.write(looked(str(shop.project), tokens=60_000))
    measured = shop.clear(dry_run=True)[0].made.prefixes
    first, talk = _cleared_and_gone_on(shop)
    moved = shop.clear(dry_run=True)[0].made.prefixes
    assert moved["read-long"] == measured["read-long"], "nothing that left stood before it"
    for id in ("read-lib", "read-app", "edit-app"):
        assert measured[id] - moved[id] == pytest.approx(first.tokens, rel=0.15), "all that left stood before it"
    assert moved["edit-app"] < moved["read-next"] < moved["last"] < talk.tokens


def test_the_sum_of_the_second_clear_fits_into_its_prompt(shop: Shop):
    _, talk = _cleared_and_gone_on(shop)
    plan, _ = shop.clear(dry_run=True)
    prompt = talk.tokens + 503
    assert plan.sum.warm
    first = min(plan.selection.going, key=lambda result: result.index)
    tokens = sum(result.tokens for result in plan.selection.going) * plan.made.state.calibration
    assert 0 < plan.sum.leaves < tokens < prompt
    assert plan.sum.rewritten == pytest.approx(prompt - plan.made.prefixes[first.id] - plan.sum.leaves, abs=600)
    assert 0 < plan.sum.share < 1


# --- why, and what is written down ------------------------------------------------------------------------------------------------


def _journal(shop: Shop) -> list[dict]:
    return [json.loads(line) for line in Path(shop.site().paths().journal).read_text().splitlines()]


def test_the_journal_holds_the_reason_of_each_and_why_tells_it(cold: Shop):
    plan, done = cold.clear()
    (entry,) = [entry for entry in _journal(cold) if entry["event"] == "clear"]
    assert set(entry["reasons"]) == set(entry["ids"]) == set(done.handles)
    needs = plan.selection.needs
    assert entry["reasons"] == {
        id: f"worth more gone than kept: a chance of {needs[id]:.0%} that it is needed again" for id in done.handles
    }
    told = cold.context("why", "read-long").out
    assert entry["reasons"]["read-long"] in " ".join(told.split())
    assert cold.state().expired["read-long"].ended[4] == [entry["reasons"]["read-long"]]
    assert "by the user" not in told


def test_what_the_user_named_went_by_the_user(cold: Shop):
    cold.clear(ids=("read-lib",))
    (entry,) = [entry for entry in _journal(cold) if entry["event"] == "clear"]
    assert "reasons" not in entry
    assert cold.state().expired["read-lib"].ended[4] == ["cleared by the user"]


def _everything(shop: Shop) -> dict:
    state = shop.state()
    return {id: (result.to_row(), result.ended) for id, result in state.expired.items()}


def test_transcript_and_journal_alone_give_what_is_stored(cold: Shop):
    cold.clear()
    stored, known = _everything(cold), cold.known()
    folder = cold.home / "sessions" / SESSION
    for path in [*folder.glob("*.state.json"), *folder.glob("*.expired.jsonl")]:
        path.unlink()
    assert _everything(cold) == stored
    assert cold.known() == known
    assert stored["read-long"][1][4][0].startswith("worth more gone than kept")


def _rewrite_journal(shop: Shop, change) -> None:
    """The journal as it would be had another version written it, or a kill kept it from being written."""
    entries = [change(entry) for entry in _journal(shop)]
    lines = [json.dumps(entry) + "\n" for entry in entries if entry is not None]
    Path(shop.site().paths().journal).write_text("".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: {name: value for name, value in entry.items() if name != "reasons"},
        lambda entry: None if entry["event"] == "clear" else entry,
        lambda entry: {**entry, "reasons": "worth it"},
        lambda entry: {**entry, "reasons": {"read-long": 7, "found": None, "nothing": "x"}},
    ],
    ids=["an older version wrote it", "a kill came before it", "reasons that are none", "reasons of another kind"],
)
def test_a_journal_without_reasons_is_understood(cold: Shop, change):
    before = cold.transcript.read_bytes()
    cold.clear()
    _rewrite_journal(cold, change)
    cold.assert_state_follows()
    assert set(cold.cleared()) == LONG_UNUSED
    assert cold.state().expired["read-long"].ended[4] == ["cleared by the user"]
    assert cold.clear()[1] is None
    assert cold.context("why", "read-long").code == 0
    cold.undo()
    assert cold.transcript.read_bytes() == before
    cold.assert_state_follows()


def test_a_reason_however_long_is_cut(cold: Shop):
    cold.clear()
    _rewrite_journal(cold, lambda entry: {**entry, "reasons": {"read-long": "x" * 10_000}})
    assert cold.state().expired["read-long"].ended[4] == ["x" * 200]


def test_an_undone_clear_has_no_say_in_the_next(cold: Shop):
    plan, _ = cold.clear()
    cold.at += 1
    cold.undo()
    cold.at += 1
    again, done = cold.clear()
    assert _ids(again.selection.going) == _ids(plan.selection.going) == set(done.handles)
    assert again.made.prefixes == plan.made.prefixes
    assert again.sum.to_json() == plan.sum.to_json()
    cold.assert_state_follows()


# --- clear_at_exit ----------------------------------------------------------------------------------------------------------------


def _run(shop: Shop, hook: str, **payload: object) -> None:
    common = {"session_id": shop.session_id, "transcript_path": str(shop.transcript), "cwd": str(shop.project)}
    ran = processes.run(hook, {**common, **payload}, shop.environ(CLAUDE_PROJECT_DIR=str(shop.project)))
    assert ran.silent, ran
    assert processes.Home(shop.folder).failures() == []


@pytest.mark.parametrize("warm", [True, False])
def test_at_the_exit_of_a_session_what_is_worth_it_with_no_cache_leaves(shop: Shop, warm: bool):
    talk = looked(str(shop.project), tokens=150_000)
    before = shop.write(talk)
    shop.at = talk.now + 30 if warm else shop.at
    _run(shop, "session-start", source="resume", hook_event_name="SessionStart")
    shop.configure(clear_at_exit=True)
    expected = _ids(shop.clear(dry_run=True, at_end=True)[0].selection.going)
    _run(shop, "session-end", hook_event_name="SessionEnd", reason="prompt_input_exit")
    assert set(shop.cleared()) == expected >= LONG_UNUSED
    assert_only_contents_changed(before, shop.transcript.read_bytes(), set(shop.cleared()))
    shop.assert_state_follows()
    kept = contents_of(shop.transcript.read_bytes())["read-long"].partition("\n")[2]
    assert "handleCheckoutStep1" in kept
    shop.undo()
    assert shop.transcript.read_bytes() == before
