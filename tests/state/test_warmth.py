"""How long users were away: read from transcripts, kept as lengths and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.utils.hosts.claude_code import entries
from hooks.utils.io import files
from hooks.utils.state import warmth
from popkit_retention.lab import sent_requests
from tests.patience import HANG_S
from tests.views.written import Written

NEVER = float("inf")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "popkit").mkdir()
    return tmp_path / "popkit"


def environ(home: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(home.parent / "claude"), "POPKIT_HOME": str(home)}


def session(home: Path, number: int, away_s: float = 1_000, turns: int = 6) -> Written:
    folder = home.parent / "claude" / "projects" / "-shop"
    written = Written(folder, session=f"5e551017-0000-4000-8000-{number:012}")
    for turn in range(turns):
        written.say("a secret question")
        written.ends(f"answer {turn}")
        written.now += away_s
    return written


def seconds(known: warmth.Breaks) -> list[float]:
    return [one.seconds for session in known.breaks for one in session]


def learn(home: Path, written: Written, days: float = 2) -> warmth.Breaks:
    return warmth.learn_breaks(environ(home), str(home), written.now + days * 86_400)


def test_what_is_learnt_is_what_is_read_again_and_holds_no_word_of_the_user(home: Path):
    written = session(home, 1)
    known = learn(home, written)
    assert (seconds(known), known.sessions, known.hour) == ([1_005.0] * 5 + [NEVER], 1, 0)
    assert [(one.prompt, one.kept, one.model) for one in known.breaks[0]] == [(20_500, 20_500, "claude-opus-4-8")] * 5 + [
        (20_500, 0, "claude-opus-4-8")
    ]
    again = warmth.read_breaks(str(home))
    assert (seconds(again), again.sessions, again.is_old(written.now + 2 * 86_400 + 60)) == (seconds(known), 1, False)
    kept = json.loads((home / "breaks.json").read_text())
    assert kept["breaks"] == [[[1_005, 20_500, 20_500, "claude-opus-4-8"]] * 5 + [[None, 20_500, 0, "claude-opus-4-8"]]]
    assert kept.keys() == {"schema", "learnt", "breaks"}
    assert (home / "breaks.json").stat().st_mode & 0o777 == 0o600


def test_of_a_session_of_the_last_day_nobody_knows_how_it_ends(home: Path):
    assert NEVER not in seconds(learn(home, session(home, 1), days=0.5))


def test_a_session_of_a_few_requests_teaches_nothing(home: Path):
    assert learn(home, session(home, 1, turns=4)).sessions == 0


def test_a_session_that_a_program_drove_teaches_nothing(home: Path):
    written = session(home, 1)
    written.path.write_text(written.path.read_text().replace('"isSidechain"', '"entrypoint": "sdk-cli", "isSidechain"'))
    assert learn(home, written).sessions == 0


def test_only_the_newest_sessions_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(warmth, "SECONDS", HANG_S)
    for number in range(warmth.TRANSCRIPTS + 3):
        written = session(home, number, turns=warmth.LEAST_REQUESTS)
    assert learn(home, written).sessions == warmth.TRANSCRIPTS


def test_breaks_that_leave_the_cache_warm_are_none(home: Path):
    known = learn(home, session(home, 1, away_s=100))
    assert seconds(known) == [NEVER]


def test_a_session_whose_cache_lasts_an_hour_is_counted_and_teaches_nothing(home: Path):
    written = Written(home.parent / "claude" / "projects" / "-shop")
    written.for_an_hour = True
    for turn in range(6):
        written.say("go")
        written.ends(f"answer {turn}")
        written.now += 1_000
    known = learn(home, written)
    assert (known.sessions, known.hour, known.breaks) == (1, 1, [])


LEARNT = '"learnt": {"sessions": 1, "hour": 0, "at": 9}'


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"schema": 2}', '{"schema": 1, "seconds": [400], "ended": 0, "learnt": {"sessions": 1, "at": 9}}'),
        *(
            f'{{"schema": 2, {LEARNT}, "breaks": {rows}}}'
            for rows in ('"x"', "[7]", "[[7]]", "[[[1, 2, 3]]]", '[[[-1, 2, 3, "m"]]]', "[[[1, 2, 3, 4]]]")
        ),
    ],
)
def test_a_file_that_cannot_be_used_teaches_nothing(home: Path, text: str):
    files.replace_text(str(home / "breaks.json"), text)
    assert (warmth.read_breaks(str(home)).breaks, warmth.read_breaks(str(home)).is_old(0)) == ([], False)
    assert warmth.read_breaks(str(home)).is_old(1e9)


def test_requests_are_those_that_the_lab_replays(transcripts: Path):
    for path in sorted(transcripts.glob("**/*.jsonl"))[::9]:
        moments = [(found.message_id, found.sent_at, found.answered_at, found.calls) for found in entries.moments_in(str(path))]
        replayed = sent_requests.read(str(path), with_needs=False).requests
        assert moments == [(request.message_id, request.sent_at, request.answered_at, request.calls) for request in replayed], path


def test_the_newest_request_is_found_at_the_end_of_a_transcript(tmp_path: Path):
    written = Written(tmp_path)
    written.say("go")
    written.read("src/a.ts")
    written.ends()
    whole, tail = entries.newest_moment(str(written.path)), entries.newest_moment(str(written.path), 1_500)
    assert whole is not None
    assert tail is not None
    assert (whole.message_id, whole.calls, whole.usage.tokens) == (tail.message_id, tail.calls, tail.usage.tokens)
    assert whole.sent_at < whole.answered_at == written.now
    assert entries.newest_moment(str(tmp_path / "none.jsonl")) is None
    written.compact()
    assert entries.newest_moment(str(written.path)) is None
    written.say("go on")
    written.ends("after it")
    assert entries.newest_moment(str(written.path)) is not None
