"""Clear under `auto`, the profile that is shipped: what costs more to keep than to clear leaves, live or expired; of a large one an outline
stays."""

from __future__ import annotations

import pytest

from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.outlines import outline, outline_of, verdict_line
from popkit_retention.core.policy.placeholder import gain, handle_in
from popkit_retention.core.policy.plans import HOLD
from tests.reclaim.looks import LARGE, LATELY, LONG_UNUSED, NAMED, PRESERVED, Sized, looked
from tests.reclaim.shops import Shop, assert_only_contents_changed, numbered

pytestmark = pytest.mark.parametrize("profile", [""], ids=["shipped"])


# --- what goes --------------------------------------------------------------------------------------------------------------------


def test_it_is_the_profile_that_is_shipped(cold: Shop):
    assert (cold.site().rules().profile, cold.prospect().rebuilt.conversation.rules.weighs) == ("auto", True)


def test_with_a_cold_cache_what_was_long_unused_goes_and_what_was_used_lately_stays(cold: Shop):
    before = cold.transcript.read_bytes()
    live = set(cold.state().live)
    prospect, done = cold.clear()
    assert set(done.handles) == LONG_UNUSED
    assert {"read-long", "new-test"} <= live
    assert_only_contents_changed(before, cold.transcript.read_bytes(), LONG_UNUSED)
    cold.assert_state_follows()
    assert prospect.plan.having(HOLD) == []
    assert prospect.plan.pays
    state = cold.state()
    assert LATELY - {"read-app"} | PRESERVED <= set(state.live)
    assert cold.archive_report() == (len(LONG_UNUSED), 1)


def test_now_takes_what_has_expired_lately_too_and_nothing_else_that_lives(cold: Shop):
    before = cold.transcript.read_bytes()
    assert set(cold.clear(now=True)[1].handles) == LONG_UNUSED | {"read-app"}
    assert_only_contents_changed(before, cold.transcript.read_bytes(), LONG_UNUSED | {"read-app"})
    cold.assert_state_follows()


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
def test_a_path_named_by_the_user_is_weighed_but_ids_and_tiers_go_at_any_worth(cold: Shop, asked: dict, gone: set):
    before = cold.transcript.read_bytes()
    prospect, done = cold.clear(**asked)
    assert set(done.handles if done else {}) == gone
    needs = {decision.result.id for decision in prospect.plan.decisions if decision.need is not None}
    assert needs == set() if prospect.plan.selection.forces else needs >= gone - {"read-app"}
    assert_only_contents_changed(before, cold.transcript.read_bytes(), gone)
    cold.assert_state_follows()


def test_what_the_user_names_leaves_an_outline_too_and_goes_by_the_user(cold: Shop):
    handle = cold.clear(ids=("read-lib", "read-long"))[1].handles["read-long"]
    notice, _, kept = cold.contents()["read-long"].partition("\n")
    assert notice == f"[PopKit cleared Read src/checkout.ts (by the user). To see it: popkit restore {handle}]"
    assert kept == outline(numbered(NAMED))


@pytest.mark.parametrize("how", [{}, {"now": True}])
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
    prospect, done = shop.clear(**how)
    assert not set(names) & set(done.handles)
    assert prospect.rebuilt.conversation.unseen == set(names)
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
        result = cold.state().expired[id]
        assert kept == outline_of(result, before[id])
        names_kept = kept.removeprefix(verdict_line(result))
        assert len(names_kept) <= len(before[id]) // 10
        assert all(name in before[id] for name in names_kept.split() if name != "--")
        assert result.kind.startswith("run") or bool(kept) is (id in LARGE)


def test_of_text_in_blocks_the_names_stay_too_and_the_blocks_come_back(shop: Shop):
    talk = looked(str(shop.project))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 900}}
    blocks = [{"type": "text", "text": NAMED}, picture, {"type": "text", "text": "src/picture.ts"}]
    talk.use("shown", "mcp__demo__look", {"at": "it"})
    talk.result("shown", blocks)
    talk.rest(60)
    talk.answer("So.")
    shop.write(talk)
    assert "shown" in shop.clear()[1].handles
    assert set(shop.contents()["shown"].partition("\n")[2].split()) >= {"handleCheckoutStep1", "src/picture.ts"}
    assert shop.archived(shop.cleared()["shown"]) == blocks


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
    prospect, done = cold.clear()
    contents, results = cold.contents(), {**before.live, **before.expired}
    tokens = sum(round(results[id].tokens * before.calibration) - estimate_tokens(contents[id]) for id in done.handles)
    assert done.tokens == tokens
    assert cold.ledger()["pending_tokens"] == tokens
    planned = sum(gain(results[id], before.calibration, prospect.rebuilt.conversation.rules) for id in done.handles)
    cleared = prospect.plan.sum.leaves - prospect.plan.further  # which only a compaction takes
    assert abs(cleared - planned) <= len(done.handles), "each rounded by itself"
    assert abs(done.tokens - planned) <= sum(len(had[id]) // 10 for id in done.handles) / 2.9, "the outlines were counted at their longest"


# --- the sum ----------------------------------------------------------------------------------------------------------------------


def _warm(shop: Shop, talk: Sized) -> bytes:
    before = shop.write(talk)
    shop.at = talk.now + 30
    return before


def test_a_costly_warm_cache_shows_what_would_go_and_the_command_that_clears_anyway(shop: Shop):
    before = _warm(shop, looked(str(shop.project), idle=120, tokens=120_000))
    done = shop.context("clear")
    assert done.code == 0
    output = " ".join(done.out.split())
    assert "Not cleared: it " in output
    assert "warm: the messages that stay" in output
    assert "must be written again" in output
    assert "so auto waits for a cold cache" in output
    assert "Nothing was changed." in output
    assert "To clear now anyway" in output
    assert "clear --now" in output
    assert shop.transcript.read_bytes() == before
    assert not (shop.home / "archive.sqlite").exists()
    planned = shop.context("clear", "--json").json
    assert (planned["cleared"], planned["pays"], planned["sum"]["warm"], planned["profile"]) == (False, False, True, "auto")
    assert planned["items"] > 0
    assert shop.context("clear", "--now").code == 0
    assert set(shop.noted().only) >= {row["id"] for row in planned["results"]} | {"read-app"}
    assert shop.transcript.read_bytes() == before


def _ends_in_runs(talk: Sized) -> Sized:
    """At the end of a long prompt: runs of a test, of which the newest lives."""
    for number in range(4):
        talk.bash(f"run-{number}", "npm test", f"run {number}\n" + "  ok - adds and takes away\n" * 400)
    talk.idle(4)
    talk.answer("So.")
    return talk


def test_near_the_end_of_a_long_warm_prompt_it_still_waits_for_a_cold_cache(shop: Shop):
    before = _warm(shop, _ends_in_runs(looked(str(shop.project), tokens=150_000)))
    waits = shop.context("clear", "--json").json
    assert (waits["cleared"], waits["pays"], waits["sum"]["warm"]) == (False, False, True)
    assert {row["id"] for row in waits["results"]} >= {"run-0", "run-1", "run-2"}
    assert shop.transcript.read_bytes() == before
    shop.at += 300
    done = shop.context("clear", "--json").json
    assert (done["cleared"], done["pays"], done["sum"]["warm"]) == (True, True, False)
    assert set(shop.noted().only) >= {"run-0", "run-1", "run-2"}
    assert shop.transcript.read_bytes() == before
    shop.assert_state_follows()
