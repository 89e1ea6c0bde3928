"""The law of every answer: no line wider than Claude Code's 70 columns or a terminal's 40, nothing that a terminal would obey, whatever the
labels hold."""

from __future__ import annotations

import unicodedata

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core import flag_parser, text, units
from popkit_retention.core.efficiency_tracker import EfficiencyMetrics, metrics_of, worth
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.operations import CONTEXT, names
from popkit_retention.core.operations.context_words import _mistake
from popkit_retention.core.operations.help_text import help_lines
from popkit_retention.core.policy import figures
from popkit_retention.core.policy.ledger import Ledger
from popkit_retention.core.policy.plans import Selection
from popkit_retention.core.policy.ruleset import TIERS, Ruleset
from popkit_retention.core.policy.verdict import KINDS
from popkit_retention.core.views import clear, memory_in_session, one_result, phrases, report, savings
from popkit_retention.core.views.panel import panel
from popkit_retention.core.views.stats import stats_lines
from popkit_retention.core.views.timeline import timeline_lines
from tests.examples import examples
from tests.policy.scenario import Scenario
from tests.views.seen import planned, seen

HOSTILE = st.one_of(
    st.text(max_size=150),
    st.text(alphabet="漢字ｗｉｄｅ한글👩‍👩‍👧\u0301\u0489\u200d\ufe0f\u202e\x1b[31m\x07\r\n\t\x9b\u2028", max_size=120),
    st.sampled_from(["\x1b]0;title\x07", "\x1b[2J", "a" * 400, "漢" * 200, "…" * 200, "/" * 90, "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢", ""]),
)
CALLS = st.tuples(st.sampled_from(["Read", "Grep", "Edit", "Bash", "fails", "run", "mcp", "ask", "todo", "turn", "pin", "wait"]), HOSTILE)


def _lawful(lines: list) -> None:
    for columns in (text.NARROWEST, text.WIDTH):
        _lawful_in(columns, text.laid_out(lines, columns))


def _lawful_in(columns: int, lines: list[str]) -> None:
    for line in lines:
        assert text.width(line) <= columns, line
        assert line == line.rstrip(), line
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in line), line


def _played(calls: list) -> Scenario:
    session = Scenario()
    for what, words in calls:
        if what == "Read":
            session.read("/p/" + words)
        elif what == "Grep":
            session.grep(words, "/p/" + words[:10])
        elif what == "Edit":
            session.edit("/p/" + words)
        elif what == "Bash":
            session.bash(words or "ls")
        elif what == "fails":
            session.bash_fails(words or "x", words)
        elif what == "run":
            session.bash("npm test " + words, "1 failed " + words)
        elif what == "mcp":
            session.call("mcp__" + words, {"description": words})
        elif what == "ask":
            session.call("AskUserQuestion", {"query": words})
        elif what == "todo":
            session.call("TodoWrite", {})
        elif what == "turn":
            session.new_turn()
        elif what == "pin":
            session.pin(words)
        else:
            session.wait(200)
    return session


@given(st.lists(CALLS, max_size=14), HOSTILE, st.integers(0, 10**12), st.sampled_from([0.6, 1.0, 1.7]))
@settings(deadline=None, max_examples=examples(50, 150))
def test_no_answer_is_wide_or_moves_the_cursor(calls, hostile, tokens, calibration):
    session = _played(calls)
    session.state.calibration = calibration
    session.state.session_id = hostile
    sums = {"items": tokens, "tokens": tokens}
    found = report.build(seen(session, session.at + 5, prompt=tokens, model=hostile))
    found.update(
        project=hostile, transcript=hostile, abandoned=tokens, agents=[{"agent": hostile, "calls": tokens, "live": sums, "expired": sums}]
    )
    for kind, wait_s in [(kind, wait_s) for kind in KINDS for wait_s in (None, tokens % 10_000)]:
        if kind != "wait" or wait_s is not None:
            verdict = {
                "kind": kind,
                **sums,
                "thinking": tokens,
                "pays_after": tokens,
                "wait_s": wait_s,
                "usd": tokens / 100,
                "expired": tokens,
            }
            _lawful(panel({**found, "verdict": verdict}))
    for everything in (False, True):
        _lawful(panel(found, True, everything))
        _lawful(timeline_lines(found, None if everything else 3))
    for asked in (Selection(), Selection(now=True), Selection(pattern=hostile), *map(Selection, TIERS), Selection(ids=tuple(session.live))):
        for data in (*_clears(session, "auto", asked, found, tokens), *_clears(session, "spec", asked, found, tokens)):
            _lawful(clear.clear_lines(data, found, "/popkit:context", phrases.quoted(hostile), True))
    _lawful(clear.taken_lines(found))
    for row in found["results"]:
        _lawful(one_result.why(found, row))
    for word in (hostile, "T1", "T99", "zzzz"):
        _lawful(_error_of(found, word))


def _clears(session: Scenario, profile: str, asked: Selection, found: dict, tokens: int) -> list:
    """What a clear answers under a profile: as a dry run, where it does not pay, where it was done."""
    rules, session.rules = session.rules, Ruleset.from_config(session.config, TOOLS, profile)
    model = ("claude-opus-4-8", "claude-fable-5-2")[tokens % 2]
    plan = planned(session, asked, prompt=tokens, model=model)
    cold = planned(session, asked, cold=True, prompt=tokens, model=model)
    session.rules = rules
    plan.likely_requests, plan.pays, plan.sum.thinking = tokens, bool(tokens % 3), tokens % 5
    ways = ((False, False, found, True), (False, False, found, False), (True, False, found, False), (True, True, found, False))
    return [clear.clear_data(plan, cold, *given) for given in ways]


def _error_of(found: dict, word: str) -> list:
    try:
        names.find_result(found, word)
    except names.ResultNotFound as error:
        return _mistake(str(error)).lines
    return []


@given(st.lists(HOSTILE, max_size=4), st.booleans())
def test_no_error_is_wide(words, shell):
    try:
        flag_parser.parse(words, CONTEXT, shell=shell)
    except flag_parser.UsageError as error:
        _lawful(_mistake(str(error)).lines)


def test_no_help_is_wide():
    for shell in (False, True):
        for name in ("", *CONTEXT.by_name):
            _lawful(help_lines(name, "popkit context", CONTEXT, shell))


@given(st.dictionaries(st.sampled_from(TIERS), st.integers(0, 10**13)), HOSTILE, st.floats(-1e13, 1e13))
def test_no_figures_are_wide(numbers, agent, amount):
    signed = ("net", "saved", "usd_cleared", "saved_kept_out")
    ledger = {key: amount if key in signed else abs(round(amount)) for key in Ledger().to_json()}
    _lawful(text.wrap(savings.ledger_in_words(figures.of_ledger(ledger))))
    metrics = metrics_of(
        {"ledger": ledger, "results": numbers, "expired": numbers, "results_tokens": numbers, "superseded": sum(numbers.values())}
    )
    metrics.days = {f"2026-11-22 {name}": value for name, value in metrics.ledger.items()}
    period = worth(metrics, 1795348800.0)
    _lawful(savings.ledger_table(period))
    _lawful(stats_lines((metrics, metrics, metrics), period, agent, len(numbers), {agent: metrics, "": EfficiencyMetrics()}))


@given(HOSTILE, st.integers(0, 90), st.integers(0, 90))
def test_cutting_and_wrapping_keep_to_their_columns(hostile, columns, blanks):
    cleaned = text.clean(hostile)
    assert text.clean(cleaned) == cleaned
    assert text.width(text.cut(cleaned, columns)) <= columns
    assert text.width(text.cut_start(cleaned, columns)) <= columns
    assert text.width(text.pad(cleaned, columns)) == columns
    if columns >= 8:
        indent = " " * blanks
        assert all(text.width(line) <= columns for line in text.wrapped(indent + hostile, columns, indent))


@given(HOSTILE)
def test_wrapping_loses_no_word(hostile):
    words = text.clean(hostile).split()
    assert "".join(text.wrapped(hostile, 20)).replace(" ", "") == "".join(words)


@pytest.mark.parametrize("hostile", ["plain", "漢字とかな", "ｗｉｄｅ", "한국어", "cafe\u0301", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢", "👩‍👩‍👧 ✔️ ⚠️", "█░─►←…"])
def test_a_terminal_counts_the_same_columns(hostile):
    screen = pyte.Screen(120, 2)
    pyte.Stream(screen).feed(text.clean(hostile))
    assert text.width(text.clean(hostile)) == screen.cursor.x


@pytest.mark.parametrize(("have", "shown", "others"), [(0, 0, 0), (5, 5, 0), (6, 6, 0), (7, 5, 2)])
def test_no_line_of_a_list_replaces_a_single_item(have: int, shown: int, others: int):
    assert text.beginning(range(have), 5) == (range(shown), others)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0%"), (0.001, "<1%"), (0.006, "1%"), (0.126, "13%"), (0.994, "99%"), (0.999, "99%"), (1.0, "100%"), (1.3, "130%")],
)
def test_a_share_is_nothing_or_all_only_where_it_is(share: float, words: str) -> None:
    assert units.percent(share) == words


@pytest.mark.parametrize(("share", "words"), [(0.0, "less than 1%"), (0.009, "less than 1%"), (0.01, "1%"), (0.126, "13%"), (1.0, "100%")])
def test_no_chance_is_called_none(share: float, words: str):
    assert units.chance(share) == words


def test_what_fits_is_left_as_it_is():
    assert text.cut("short", 5) == "short"
    assert text.cut("shorter", 5) == "shor…"
    assert text.cut_start("/a/b/c.ts", 5) == "…c.ts"
    assert text.cut("漢字漢字", 5) == "漢字…"
    assert text.wrapped("  one two three", 9, "  ") == ["  one two", "  three"]
    assert text.wrapped("          one", 8) == ["    one"], "words are within the columns, however far right they began"
    assert [units.tokens(n) for n in (0, 0.4, 1, 999, 1_000, 9_949, 9_950, 15_400, 999_499, 999_500, 2_500_000)] == [
        "0", "0", "~1", "~999", "~1.0k", "~9.9k", "~10k", "~15k", "~999k", "~1.0M", "~2.5M",
    ]  # fmt: skip
    assert [units.long_tokens(n) for n in (0, 1, 42, 15_234, 1_234_567)] == [
        "~0 tokens", "~1 token", "~42 tokens", "~15,200 tokens", "~1,230,000 tokens",
    ]  # fmt: skip
    assert [units.countdown(s) for s in (0, 45, 270, 300, 720, 3_600, 3_900)] == [
        "0 s", "45 s", "4 min 30 s", "5 min", "12 min", "1 h", "1 h 5 min",
    ]  # fmt: skip
    assert [units.span(s) for s in (-3, 0, 140, 599.6, 3_600, 7_200, 172_800)] == (
        "0 s, 0 s, 2 min, 10 min, 60 min, 2 h, 2 days".split(", ")
    )


@given(st.booleans(), st.booleans(), HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_memory_that_is_switched_on_or_off(on, changed, project, folder, store, summariser):
    found = {"on": on, "changed": changed, "project": project, "folder": folder, "store": store, "summariser": summariser, "tokens": 500}
    _lawful(memory_in_session.turned_lines(found, "/popkit:context"))
