"""The rules of other tools, each on a session of a few requests."""

from __future__ import annotations

import pytest

from hooks.utils.state import shipped
from popkit_retention.lab import baselines
from popkit_retention.lab.engine_policies import Tiers
from popkit_retention.lab.replay_policies import POLICIES
from tests.lab.made import Made
from tests.policy.priced import prices


def policy(made: Made, name: str, ttl_s: float = 300):
    return POLICIES[name][0](made.session, prices(ttl_s))


def reads(count: int, chars: int = 6_000, base: int = 8_000) -> Made:
    """So many files are read, each before a request of its own; then one more request."""
    made = Made(base)
    for number in range(count):
        made.read(f"/p/{number}.py", chars)
        made.request()
    made.request()
    return made


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("ttl_s", [300, 3_600])
def test_every_policy_plays_a_session_with_everything_in_it(name, ttl_s):
    made = reads(3)
    made.edit("/p/0.py")
    made.bash("pytest -q", error=True)
    made.request(after=4_000)
    made.cut(4)
    made.read("/p/0.py")
    made.turns(6)
    made.compact()
    made.bash("git status")
    made.requests(2)
    played = made.under(policy(made, name, ttl_s), prices(ttl_s))
    assert played.score.requests == 13
    assert len(played.cleared) == len(set(played.cleared))


@pytest.mark.parametrize("name", POLICIES)
def test_what_came_back_is_never_cleared_again(name):
    made = Made(base=110_000)
    old = made.read("/p/a.py", 30_000)
    made.edit("/p/a.py")
    made.turns(60)
    for number in range(12):
        made.read(f"/p/{number}.py", 30_000)
    made.request(after=4_000)
    made.request([old])
    made.read("/p/b.py")
    made.turns(60)
    made.request(after=4_000)
    assert made.under(policy(made, name)).cleared.count("T1") <= 1


# --- the specification's tiers ------------------------------------------------------------------------------------------------------


def test_a_read_goes_when_its_file_is_edited():
    made = Made()
    made.read("/p/a.py")
    made.read("/p/b.py")
    made.request()
    made.edit("/p/a.py")
    made.request()
    played = made.under(Tiers(shipped.rules("spec")))
    assert played.at == {2: ["T1"]}
    assert "a.py" in played.texts["T1"]


def test_tiers_that_wait_for_a_cold_cache_clear_when_it_is_cold():
    made = Made()
    made.read("/p/a.py")
    made.request()
    made.edit("/p/a.py")
    made.requests(3)
    made.request(after=301)
    assert made.under(Tiers(shipped.rules("spec"), only_cold=True)).at == {5: ["T1"]}


def test_searches_live_longer_in_a_conservative_profile_and_shorter_in_an_aggressive_one():
    made = Made()
    made.result("Grep", chars=3_000, pattern="x")
    for number in range(12):
        made.request()
        made.read(f"/p/{number}.py")
    made.request()
    when = {name: next(iter(made.under(Tiers(shipped.rules(name))).at)) for name in ("aggressive", "spec", "conservative")}
    assert when["aggressive"] < when["spec"] < when["conservative"]


def test_time_passes_for_tiers_without_a_call():
    made = Made()
    made.result("Grep", chars=3_000, pattern="x")
    made.request()
    made.request(after=400)
    assert made.under(Tiers(shipped.rules("spec"))).at == {2: ["T1"]}


def test_a_result_smaller_than_its_placeholder_is_left_alone():
    made = Made()
    made.edit()
    made.requests(3)
    made.edit()
    made.requests(3)
    assert made.under(Tiers(shipped.rules("spec"))).cleared == []


# --- context editing, pruning, masking ------------------------------------------------------------------------------------------------


def test_context_editing_keeps_the_last_three_once_the_prompt_is_over_its_limit():
    played = reads(6, base=94_000).under(baselines.ContextEditing())
    assert played.at == {4: ["T1"], 5: ["T2"], 6: ["T3"]}
    assert set(played.texts.values()) == {"[Old tool result content cleared]"}


def test_context_editing_does_nothing_below_its_limit():
    assert reads(6).under(baselines.ContextEditing()).cleared == []


def test_context_editing_with_a_least_amount_waits_until_that_much_goes():
    made = reads(16, base=100_000)  # 2,069 tokens each
    played = made.under(baselines.ContextEditing(at_least=20_000))
    assert played.at == {13: [f"T{number}" for number in range(1, 11)]}


def test_pruning_spares_two_turns_and_the_newest_forty_thousand_tokens():
    made = Made()
    for number in range(9):
        made.read(f"/p/{number}.py", 40_000)  # 10,000 tokens by its measure
        made.turns(1)
    # Of T1 to T9 the last two turns hold T8, T9; then four of ten thousand are protected.
    made.prompt()
    made.request()
    played = made.under(baselines.OpencodePrune())
    assert played.cleared == ["T1", "T2", "T3"]
    assert set(played.texts.values()) == {"[Old tool result content cleared]"}


def test_pruning_leaves_a_small_rest_alone():
    made = Made()
    for number in range(7):
        made.read(f"/p/{number}.py", 40_000)
        made.turns(1)
    assert made.under(baselines.OpencodePrune()).cleared == []


def test_masking_keeps_the_last_ten():
    played = reads(12).under(baselines.Masking(10))
    assert played.at == {11: ["T1"], 12: ["T2"]}
    assert played.texts["T1"] == "Old environment output: (1 lines omitted)"


def test_microcompact_waits_an_hour_and_keeps_the_last_five():
    made = reads(6)
    made.result("mcp__x__y", chars=600)
    made.request(after=3_599)
    assert made.under(baselines.Microcompact()).cleared == []
    made.request(after=3_601)
    assert made.under(baselines.Microcompact()).at == {9: ["T1"]}


def test_a_rule_forgets_what_a_compaction_folded():
    made = reads(8)
    made.compact()
    for number in range(4):
        made.bash(f"echo {number}")
        made.request()
    assert set(made.under(baselines.Masking(3)).cleared) == {"T1", "T2", "T3", "T4", "T5", "T9"}


# --- what later results make obsolete -------------------------------------------------------------------------------------------------


def test_the_same_call_again_makes_the_earlier_result_go():
    made = Made()
    for command in ("ls", "ls -a", "ls"):
        made.bash(command)
        made.request()
    made.edit()
    made.result("Edit", chars=60, file_path="/p/a.py", old_string="a3", new_string="b")
    made.request()
    assert made.under(baselines.Dedupe()).at == {3: ["T1"]}


@pytest.mark.parametrize("name", ["headroom-stale-reads", "cozempic-stale-reads"])
def test_a_read_is_stale_once_its_file_is_edited(name):
    made = Made()
    made.read("/p/a.py")
    made.read("/p/small.py", 300)
    made.read("/p/b.py")
    made.request()
    made.edit("a.py")
    made.edit("/p/small.py")
    made.edit("/p/b.py", error=True)
    made.request()
    made.read("/p/a.py")
    made.request()
    assert made.under(policy(made, name)).at == {2: ["T1"]}


def test_a_rewind_takes_an_edit_back():
    made = Made()
    made.read("/p/a.py")
    made.request()
    made.edit("/p/a.py")
    made.cut(4)
    made.request()
    assert made.under(policy(made, "headroom-stale-reads")).cleared == []


# --- ages -------------------------------------------------------------------------------------------------------------------------------


def test_cozempic_leaves_a_stub_after_forty_prompts():
    made = Made()
    made.read("/p/a.py", 2_048)
    made.read("/p/b.py", 99)
    made.turns(39)
    assert made.under(baselines.CozempicAges()).cleared == []
    made.turns(1)
    assert made.under(baselines.CozempicAges()).texts == {"T1": "[cozempic: Read /p/a.py — 1 lines, 2.0 KB]"}


def test_pichay_pages_out_after_four_turns_but_never_an_error():
    made = Made()
    made.read("/p/a.py")
    made.bash("make", error=True)
    made.read("/p/b.py", 499)
    made.turns(4)
    assert made.under(baselines.Pichay()).cleared == []
    made.turns(1)
    assert made.under(baselines.Pichay()).texts == {"T1": "[Paged out: Read /p/a.py (6000 bytes, 1 lines). Re-read if needed.]"}


def test_pichay_pins_what_is_read_again_unchanged_until_it_changes():
    made = Made()
    made.result("Read", "same" * 500, file_path="/p/a.py")
    made.turns(5)
    made.result("Read", "same" * 500, file_path="/p/a.py")
    made.turns(6)
    assert made.under(baselines.Pichay()).cleared == ["T1"]
    made.result("Read", "other" * 500, file_path="/p/a.py")
    made.turns(6)
    assert made.under(baselines.Pichay()).cleared == ["T1", "T2", "T3"]


def test_wet_knows_families_of_commands():
    made = Made()
    made.bash("pytest -q")
    made.bash("git -C x status")
    made.bash("ls")
    made.bash("false", error=True)
    made.bash("pwd", 200)
    made.read()
    made.requests(5)
    assert made.under(baselines.Wet()).at == {2: ["T1"], 3: ["T2"], 4: ["T3"]}


def test_wet_leaves_the_line_that_tells_how_it_went():
    made = Made()
    made.result("Bash", "line\n" * 200 + "3 failed, 5 passed", command="pytest")
    made.requests(2)
    assert made.under(baselines.Wet()).texts["T1"] == "[wet: pytest: 201 lines; 3 failed, 5 passed]"


def test_trimwire_decides_in_batches():
    made = Made()
    made.bash("ls", 600)
    made.bash("ls", 600)
    made.requests(8)
    assert made.under(baselines.Trimwire()).at == {6: ["T1"]}


def test_trimwire_decides_at_once_when_much_was_added():
    made = Made()
    made.bash("ls", 70_000)
    made.bash("ls", 70_000)
    made.request()
    assert made.under(baselines.Trimwire()).at == {1: ["T1"]}


def test_trimwire_cuts_what_is_large_and_later_takes_it_all():
    made = Made()
    made.bash("make", 5_000)
    made.edit()
    made.requests(6)
    shortened = made.under(baselines.Trimwire()).texts
    assert shortened["T1"].startswith("1-xx")
    assert len(shortened["T1"]) == 2 * 2_048 + len("\n[trimwire: 904 B removed]\n")
    made.requests(20)
    assert made.under(baselines.Trimwire()).texts["T1"] == "[trimwire: Bash make (5000 B) removed]"


def test_trimwire_pages_out_a_large_file_that_was_read_once():
    made = Made()
    made.read("/p/once.py", 20_000)
    made.read("/p/twice.py", 20_000, limit=1)
    made.requests(6)
    made.read("/p/twice.py", 20_000, limit=2)
    made.requests(10)
    texts = made.under(baselines.Trimwire()).texts
    assert texts["T1"] == "[trimwire: Read /p/once.py (20000 B) removed]"
    assert texts["T3"].startswith("3-xx")


def test_trimwire_lets_searches_go_after_two_requests():
    made = Made()
    made.result("Grep", chars=400, pattern="x")
    made.requests(6)
    assert made.under(baselines.Trimwire()).at == {6: ["T1"]}
