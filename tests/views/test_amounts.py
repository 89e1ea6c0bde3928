"""Amounts as people read them: the limits of the plan in a line, and what something is worth of a window, with its error."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hooks.utils.operations.context_words import answer
from hooks.utils.policy.limits import Reading, Window
from hooks.utils.state import client_reports
from hooks.utils.views import amounts
from tests.policy.weighed import weights
from tests.views.written import Written, long_session

NOW = time.mktime((2026, 11, 24, 14, 0, 0, 0, 0, -1))  # a Tuesday
HOUR = 3_600.0


def window(kind: str, percent: float, full_in: float | None = None, ago: float = 0.0, resets_in: float = 4 * HOUR) -> Window:
    return Window(Reading(kind, NOW - ago, percent, NOW + resets_in), 1.0, None if full_in is None else NOW + full_in)


LINES = [
    ([], ""),
    ([window("five_hour", 62, 160 * 60), window("seven_day", 31)], "5 h 62 %, full at 16:40 · 7 d 31 %"),
    ([window("seven_day", 90.4, 30 * HOUR)], "7 d 90 %, full Wed 20:00"),
    ([window("five_hour", 99.7, 60)], "5 h 99 %, full at 14:01"),
    ([window("five_hour", 100, 0)], "5 h 100 %, resets at 18:00"),
    ([window("spend_limit", 104.5, resets_in=8 * 24 * HOUR)], "spend 104 %, resets 2026-12-02"),
    ([window("five_hour", 62, 60, ago=HOUR + 1), window("seven_day", 31, ago=HOUR)], "7 d 31 %"),
]


@pytest.mark.parametrize(("windows", "expected"), LINES)
def test_the_line_says_how_full_they_are_and_when_they_will_be(windows: list[Window], expected: str):
    assert amounts.limits_line(windows, NOW) == expected


# --- shares of a window: not a word where nobody knows --------------------------------------------------------------------------------

GOLDENS = Path(__file__).parent / "goldens"
COLD_S = 400.0
WORDS = ("retention", "clear --dry-run", "clear", "why", "stats")


@pytest.fixture
def written(tmp_path: Path) -> Written:
    (tmp_path / "home").mkdir()
    session = long_session(tmp_path / "projects")
    session.ends()
    session.now += COLD_S
    return session


def asked(written: Written, home: Path, line: str) -> str:
    return answer(line, written.site(home), str(written.path), written.now)


def of_windows(text: str) -> list[str]:
    return [line for line in " ".join(text.split()).split(". ") if "-hour" in line or "weekly" in line]


def test_a_clear_says_what_it_is_worth_in_the_window(written: Written, tmp_path: Path, golden):
    home = tmp_path / "home"
    client_reports.keep_weights(str(home), [weights(0.2)], written.now)
    golden(GOLDENS / "shares.txt", "\n".join(f"> {line}\n{asked(written, home, line)}\n" for line in WORDS))


@pytest.mark.parametrize("known", [[], [weights(0.9)], [weights(0.1, "claude-opus-9")]], ids=["none", "wide", "another model"])
def test_where_nobody_knows_not_a_word_is_said(written: Written, tmp_path: Path, known):
    home = tmp_path / "home"
    client_reports.keep_weights(str(home), known, written.now)
    for line in WORDS:
        assert of_windows(asked(written, home, line)) == []


def test_programs_read_the_same(written: Written, tmp_path: Path):
    home = tmp_path / "home"
    client_reports.keep_weights(str(home), [weights(0.2)], written.now)
    report = json.loads(asked(written, home, "retention --json"))
    data = json.loads(asked(written, home, "clear --json --dry-run"))
    assert report["verdict"]["share"] == data["share"]
    assert (data["share"]["window"], data["share"]["requests"]) == ("five_hour", 14)


@pytest.mark.parametrize(
    ("percent", "error", "words"),
    [
        (1.234, 0.3, "1.2 % (± 0.3)"), (0.0123, 0.0031, "0.012 % (± 0.004)"), (12.3, 2.01, "12 % (± 3)"),
        (140.4, 22, "140 % (± 22)"), (0.5, 0.0951, "0.50 % (± 0.10)"), (2.0, 0.0, "2.0 % (± 0.0)"),
    ],
)  # fmt: skip
def test_an_error_is_rounded_up_to_one_figure_and_its_percent_as_far(percent: float, error: float, words: str):
    assert amounts.with_error(percent, error) == words


def test_in_a_table_percents_stand_with_their_error():
    share = {"window": "five_hour", "percent": 12_345.0, "error": 810.0, "requests": 0}
    shown = [amounts.short_share(each) for each in (share, {**share, "percent": -0.161, "error": 0.031}, {**share, "percent": 0.03}, None)]
    assert shown == ["12,345 ± 810", "-0.16 ± 0.04", "~0", "-"]
    assert amounts.net_share({**share, "percent": -2.0, "error": 0.4}) == "taking about 2.0 % (± 0.4) of the five-hour window"


def test_the_net_of_a_session_and_of_all_is_given_as_a_share_of_a_window(written: Written, tmp_path: Path):
    home = tmp_path / "home"
    client_reports.keep_weights(str(home), [weights(0.1)], written.now)
    asked(written, home, "clear")
    written.tokens -= 16_000
    written.ends("after it was loaded again")
    net = json.loads(asked(written, home, "stats --json"))
    share = json.loads(asked(written, home, "retention --json"))["figures"]["share"]
    assert net["session"]["figures"]["cleared_tokens"] > 10_000
    assert net["shares"] == [share] * 3
    (row,) = [line for line in asked(written, home, "stats").split("\n") if line.startswith("Net, % of five-hour window")]
    assert row.count(amounts.short_share(share)) == 3
    assert f"leaving about {amounts.with_error(share['percent'], share['error'])} of the five-hour window" in " ".join(
        asked(written, home, "retention").split()
    )
