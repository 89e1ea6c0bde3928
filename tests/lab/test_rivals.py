"""The rules of other tools, each on a session of a few requests."""

from __future__ import annotations

import pytest

from benchmarks.lab import rivals
from benchmarks.lab.research import POLICIES
from popkit_retention.core.state import shipped
from popkit_retention.lab.engine_policies import Tiers
from popkit_retention.lab.host_policies import Microcompact
from tests.lab.session_builder import SessionBuilder
from tests.policy.priced import prices


def policy(builder: SessionBuilder, name: str, ttl_s: float = 300):
    return POLICIES[name][0](builder.session, prices(ttl_s))


def reads(count: int, chars: int = 6_000, base: int = 8_000) -> SessionBuilder:
    """So many files are read, each before a request of its own; then one more request."""
    builder = SessionBuilder(base)
    for number in range(count):
        builder.read(f"/p/{number}.py", chars)
        builder.request()
    builder.request()
    return builder


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("ttl_s", [300, 3_600])
def test_every_policy_plays_a_session_with_everything_in_it(name, ttl_s):
    builder = reads(3)
    builder.edit("/p/0.py")
    builder.bash("pytest -q", error=True)
    builder.request(after=4_000)
    builder.cut(4)
    builder.read("/p/0.py")
    builder.turns(6)
    builder.compact()
    builder.bash("git status")
    builder.requests(2)
    played = builder.under(policy(builder, name, ttl_s), prices(ttl_s))
    assert played.score.requests == 13
    assert len(played.cleared) == len(set(played.cleared))


@pytest.mark.parametrize("name", POLICIES)
def test_what_came_back_is_never_cleared_again(name):
    builder = SessionBuilder(base=110_000)
    old = builder.read("/p/a.py", 30_000)
    builder.edit("/p/a.py")
    builder.turns(60)
    for number in range(12):
        builder.read(f"/p/{number}.py", 30_000)
    builder.request(after=4_000)
    builder.request([old])
    builder.read("/p/b.py")
    builder.turns(60)
    builder.request(after=4_000)
    assert builder.under(policy(builder, name)).cleared.count("T1") <= 1


# --- the specification's tiers ------------------------------------------------------------------------------------------------------


def test_a_read_goes_when_its_file_is_edited():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.read("/p/b.py")
    builder.request()
    builder.edit("/p/a.py")
    builder.request()
    played = builder.under(Tiers(shipped.rules("spec")))
    assert played.at == {2: ["T1"]}
    assert "a.py" in played.texts["T1"]


def test_tiers_that_wait_for_a_cold_cache_clear_when_it_is_cold():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.request()
    builder.edit("/p/a.py")
    builder.requests(3)
    builder.request(after=301)
    assert builder.under(Tiers(shipped.rules("spec"), only_cold=True)).at == {5: ["T1"]}


def test_searches_live_longer_in_a_conservative_profile_than_in_an_aggressive_one():
    builder = SessionBuilder()
    builder.result("Grep", chars=3_000, pattern="x")
    for number in range(12):
        builder.request()
        builder.read(f"/p/{number}.py")
    builder.request()
    when = {name: next(iter(builder.under(Tiers(shipped.rules(name))).at)) for name in ("aggressive", "spec", "conservative")}
    assert when["aggressive"] < when["spec"] < when["conservative"]


def test_time_passes_for_tiers_without_a_call():
    builder = SessionBuilder()
    builder.result("Grep", chars=3_000, pattern="x")
    builder.request()
    builder.request(after=400)
    assert builder.under(Tiers(shipped.rules("spec"))).at == {2: ["T1"]}


def test_a_result_smaller_than_its_placeholder_is_left_alone():
    builder = SessionBuilder()
    builder.edit()
    builder.requests(3)
    builder.edit()
    builder.requests(3)
    assert builder.under(Tiers(shipped.rules("spec"))).cleared == []


# --- context editing, pruning, masking ------------------------------------------------------------------------------------------------


def test_context_editing_keeps_the_last_three_once_the_prompt_is_over_its_limit():
    played = reads(6, base=94_000).under(rivals.ContextEditing())
    assert played.at == {4: ["T1"], 5: ["T2"], 6: ["T3"]}
    assert set(played.texts.values()) == {"[Old tool result content cleared]"}


def test_context_editing_does_nothing_below_its_limit():
    assert reads(6).under(rivals.ContextEditing()).cleared == []


def test_context_editing_with_a_least_amount_waits_until_that_much_goes():
    builder = reads(16, base=100_000)  # 2,857 tokens each
    played = builder.under(rivals.ContextEditing(at_least=20_000))
    assert played.at == {11: [f"T{number}" for number in range(1, 9)]}


def test_pruning_spares_two_turns_and_the_newest_forty_thousand_tokens():
    builder = SessionBuilder()
    for number in range(9):
        builder.read(f"/p/{number}.py", 40_000)  # 10,000 tokens by its measure
        builder.turns(1)
    # Of T1 to T9 the last two turns hold T8, T9; then four of ten thousand are protected.
    builder.prompt()
    builder.request()
    played = builder.under(rivals.OpencodePrune())
    assert played.cleared == ["T1", "T2", "T3"]
    assert set(played.texts.values()) == {"[Old tool result content cleared]"}


def test_pruning_leaves_a_small_rest_alone():
    builder = SessionBuilder()
    for number in range(7):
        builder.read(f"/p/{number}.py", 40_000)
        builder.turns(1)
    assert builder.under(rivals.OpencodePrune()).cleared == []


def test_masking_keeps_the_last_ten():
    played = reads(12).under(rivals.Masking(10))
    assert played.at == {11: ["T1"], 12: ["T2"]}
    assert played.texts["T1"] == "Old environment output: (1 lines omitted)"


def test_microcompact_waits_an_hour_and_keeps_the_last_five():
    builder = reads(6)
    builder.result("mcp__x__y", chars=600)
    builder.request(after=3_599)
    assert builder.under(Microcompact()).cleared == []
    builder.request(after=3_601)
    assert builder.under(Microcompact()).at == {9: ["T1"]}


def test_a_rule_forgets_what_a_compaction_folded():
    builder = reads(8)
    builder.compact()
    for number in range(4):
        builder.bash(f"echo {number}")
        builder.request()
    assert set(builder.under(rivals.Masking(3)).cleared) == {"T1", "T2", "T3", "T4", "T5", "T9"}


# --- what later results make obsolete -------------------------------------------------------------------------------------------------


def test_the_same_call_again_makes_the_earlier_result_go():
    builder = SessionBuilder()
    for command in ("ls", "ls -a", "ls"):
        builder.bash(command)
        builder.request()
    builder.edit()
    builder.result("Edit", chars=60, file_path="/p/a.py", old_string="a3", new_string="b")
    builder.request()
    assert builder.under(rivals.Dedupe()).at == {3: ["T1"]}


@pytest.mark.parametrize("name", ["headroom-stale-reads", "cozempic-stale-reads"])
def test_a_read_is_stale_once_its_file_is_edited(name):
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.read("/p/small.py", 300)
    builder.read("/p/b.py")
    builder.request()
    builder.edit("a.py")
    builder.edit("/p/small.py")
    builder.edit("/p/b.py", error=True)
    builder.request()
    builder.read("/p/a.py")
    builder.request()
    assert builder.under(policy(builder, name)).at == {2: ["T1"]}


def test_a_rewind_takes_an_edit_back():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.request()
    builder.edit("/p/a.py")
    builder.cut(4)
    builder.request()
    assert builder.under(policy(builder, "headroom-stale-reads")).cleared == []


# --- ages -------------------------------------------------------------------------------------------------------------------------------


def test_cozempic_leaves_a_stub_after_forty_prompts():
    builder = SessionBuilder()
    builder.read("/p/a.py", 2_048)
    builder.read("/p/b.py", 99)
    builder.turns(39)
    assert builder.under(rivals.CozempicAges()).cleared == []
    builder.turns(1)
    assert builder.under(rivals.CozempicAges()).texts == {"T1": "[cozempic: Read /p/a.py — 1 lines, 2.0 KB]"}


def test_pichay_pages_out_after_four_turns_but_never_an_error():
    builder = SessionBuilder()
    builder.read("/p/a.py")
    builder.bash("make", error=True)
    builder.read("/p/b.py", 499)
    builder.turns(4)
    assert builder.under(rivals.Pichay()).cleared == []
    builder.turns(1)
    assert builder.under(rivals.Pichay()).texts == {"T1": "[Paged out: Read /p/a.py (6000 bytes, 1 lines). Re-read if needed.]"}


def test_pichay_pins_what_is_read_again_unchanged_until_it_changes():
    builder = SessionBuilder()
    builder.result("Read", "same" * 500, file_path="/p/a.py")
    builder.turns(5)
    builder.result("Read", "same" * 500, file_path="/p/a.py")
    builder.turns(6)
    assert builder.under(rivals.Pichay()).cleared == ["T1"]
    builder.result("Read", "other" * 500, file_path="/p/a.py")
    builder.turns(6)
    assert builder.under(rivals.Pichay()).cleared == ["T1", "T2", "T3"]


def test_wet_knows_families_of_commands():
    builder = SessionBuilder()
    builder.bash("pytest -q")
    builder.bash("git -C x status")
    builder.bash("ls")
    builder.bash("false", error=True)
    builder.bash("pwd", 200)
    builder.read()
    builder.requests(5)
    assert builder.under(rivals.Wet()).at == {2: ["T1"], 3: ["T2"], 4: ["T3"]}


def test_wet_leaves_the_line_that_tells_how_it_went():
    builder = SessionBuilder()
    builder.result("Bash", "line\n" * 200 + "3 failed, 5 passed", command="pytest")
    builder.requests(2)
    assert builder.under(rivals.Wet()).texts["T1"] == "[wet: pytest: 201 lines; 3 failed, 5 passed]"


def test_trimwire_decides_in_batches():
    builder = SessionBuilder()
    builder.bash("ls", 600)
    builder.bash("ls", 600)
    builder.requests(8)
    assert builder.under(rivals.Trimwire()).at == {6: ["T1"]}


def test_trimwire_decides_at_once_when_much_was_added():
    builder = SessionBuilder()
    builder.bash("ls", 70_000)
    builder.bash("ls", 70_000)
    builder.request()
    assert builder.under(rivals.Trimwire()).at == {1: ["T1"]}


def test_trimwire_cuts_what_is_large_and_later_takes_it_all():
    builder = SessionBuilder()
    builder.bash("make", 5_000)
    builder.edit()
    builder.requests(6)
    shortened = builder.under(rivals.Trimwire()).texts
    assert shortened["T1"].startswith("1-xx")
    assert len(shortened["T1"]) == 2 * 2_048 + len("\n[trimwire: 904 B removed]\n")
    builder.requests(20)
    assert builder.under(rivals.Trimwire()).texts["T1"] == "[trimwire: Bash make (5000 B) removed]"


def test_trimwire_pages_out_a_large_file_that_was_read_once():
    builder = SessionBuilder()
    builder.read("/p/once.py", 20_000)
    builder.read("/p/twice.py", 20_000, limit=1)
    builder.requests(6)
    builder.read("/p/twice.py", 20_000, limit=2)
    builder.requests(10)
    texts = builder.under(rivals.Trimwire()).texts
    assert texts["T1"] == "[trimwire: Read /p/once.py (20000 B) removed]"
    assert texts["T3"].startswith("3-xx")


def test_trimwire_lets_searches_go_after_two_requests():
    builder = SessionBuilder()
    builder.result("Grep", chars=400, pattern="x")
    builder.requests(6)
    assert builder.under(rivals.Trimwire()).at == {6: ["T1"]}
