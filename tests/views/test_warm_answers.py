"""What `warm` says: the sum before it begins, how it stands, why nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.utils.operations import switches
from hooks.utils.policy import warming
from hooks.utils.state import journal, store
from hooks.utils.state.warmth import Warmth
from hooks.utils.views import cache as views
from popkit_retention.cli.statusline_command import line_for
from tests.reclaim.earlier import answer
from tests.views.written import Written, spec_session

GOLDENS = Path(__file__).parent / "goldens"


class Asking:
    """A session whose user has come back after eight minutes often, and after two hours or never sometimes."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.written: Written = spec_session(folder / "projects")
        self.written.ends()
        self.home = folder / "home"
        self.home.mkdir()
        (self.home / "retention-config.json").write_text(json.dumps({"retention": config}))
        self.learn([*[480] * 60, *[7_200] * 10, *[None] * 14])

    def learn(self, seconds: list[int | None], sessions: int = 23, hour: int = 3) -> None:
        """What is known of the user's breaks, each in a session of its own."""
        learnt = {"sessions": sessions, "hour": hour, "at": round(self.written.now)}
        rows = [[[length, 30_000, 30_000, self.written.model]] for length in seconds]
        (self.home / "breaks.json").write_text(json.dumps({"schema": 2, "learnt": learnt, "breaks": rows}))

    def says(self, words: str) -> str:
        return answer(words, self.written.site(self.home), str(self.written.path), self.written.now)

    def data(self, words: str = "warm --json") -> dict[str, Any]:
        return json.loads(self.says(words))

    def sent(self, number: int = 1) -> None:
        for _ in range(number):
            self.written.now += 280
            paths = self.written.site(self.home).paths()
            store.journal(paths, journal.warming(f"end_{self.ended_at:.0f}", 0.016, self.written.now))
            store.journal(paths, journal.warmed(30_300, 30_200, 90, 4, self.written.now))

    def facts(self, **facts: Any) -> None:
        site = self.written.site(self.home)
        site.remember(warming={"row": f"end_{self.ended_at:.0f}", **facts})

    @property
    def ended_at(self) -> float:
        newest = Warmth(self.written.site(self.home), str(self.written.path)).moment
        assert newest is not None
        return newest.answered_at - 5

    def status_line(self) -> str:
        payload = {"session_id": self.written.session, "transcript_path": str(self.written.path), "cwd": self.written.project}
        environ = {"POPKIT_HOME": str(self.home), "POPKIT_CLOCK": str(self.written.now), "NO_COLOR": "1"}
        return line_for(json.dumps(payload), environ)

    def line(self) -> str:
        return views.pane_line(switches.kept_warm(self.written.site(self.home), str(self.written.path), self.written.now))


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def test_what_each_word_says(asking: Asking, golden) -> None:
    dialogue = [f"> {words}\n{asking.says(words)}\n" for words in ("warm", "warm on")]
    asking.sent(2)
    asking.facts(next=asking.written.now + 220)
    dialogue += [f"> {words}\n{asking.says(words)}\n" for words in ("warm show", "warm off", "warm show", "warm perhaps")]
    golden(GOLDENS / "warm.txt", "\n".join(dialogue))


def test_before_the_first_request_there_is_no_sum(tmp_path: Path) -> None:
    asking = Asking(tmp_path)
    asking.written.path.write_text("")
    assert "saved on balance" in asking.says("warm on")
    assert asking.line() == "Kept warm: on, 0 of at most 0 sent; nothing has been sent in this session yet"


def test_the_word_holds_for_the_session_and_beats_the_configuration(tmp_path: Path) -> None:
    asking = Asking(tmp_path, keep_warm="on")
    assert (asking.data()["on"], asking.data()["from"]) == (True, "configuration")
    assert asking.data("warm off --json")["on"] is False
    assert (asking.data()["on"], asking.data()["from"]) == (False, "session")


def test_no_file_of_a_project_switches_it_on_or_lifts_a_limit(tmp_path: Path) -> None:
    asking = Asking(tmp_path, keep_warm_requests=2)
    project = tmp_path / "shop"
    (project / ".claude").mkdir(parents=True)
    theirs = {"retention": {"keep_warm": "on", "keep_warm_requests": 24, "keep_warm_usd": 100}}
    (project / ".claude" / "retention-config.json").write_text(json.dumps(theirs))
    asking.written.project = str(project)
    data = asking.data()
    assert (data["on"], data["limits"]) == (False, {"requests": 2, "usd": 2.0})


def test_the_line_of_the_pane(asking: Asking) -> None:
    assert asking.line() == "Kept warm: off"
    asking.says("warm on")
    many = asking.data()["most"]
    asking.sent(2)
    asking.facts(next=asking.written.now + 220)
    assert asking.line() == f"Kept warm: on, 2 of at most {many} sent; next in 3 min 40 s"
    asking.facts(next=None, ended=warming.MISS)
    assert asking.line() == f"Kept warm: on, 2 of at most {many} sent; the last one did not find the cache"


def test_where_it_would_have_lost_money_it_is_switched_on_by_a_second_word(asking: Asking) -> None:
    asking.learn([7_200] * 20)
    shown = asking.says("warm on")
    assert "not kept warm yet, because in your own sessions that would have lost money" in " ".join(shown.split())
    assert "lost on balance" in " ".join(shown.split())
    assert "warm on --yes" in shown
    assert asking.data()["on"] is False
    assert "is kept warm from now on" in asking.says("warm on --yes")
    assert asking.data()["on"] is True


def test_of_a_user_without_sessions_nobody_can_say_what_it_would_have_been_worth(asking: Asking) -> None:
    asking.learn([], 0, 0)
    shown = " ".join(asking.says("warm on").split())
    assert "none of your sessions is known yet, so its worth cannot be estimated" in shown
    assert asking.data()["on"] is True


@pytest.mark.parametrize(
    ("hour", "reason"),
    [
        (0, "in your last 3 sessions nothing would have been sent One"),
        (2, "nothing would have been sent. In 2 of them the cache lasts an hour, so nothing would have been sent there One"),
        (3, "in your last 3 sessions the cache lasts an hour, so nothing would have been sent One"),
    ],
)
def test_of_sessions_in_which_nothing_would_have_been_sent_it_says_why(asking: Asking, hour: int, reason: str) -> None:
    asking.learn([], 3, hour)
    assert reason in " ".join(asking.says("warm").split())


def test_where_the_cache_lasts_an_hour_it_is_refused_with_the_reason(asking: Asking) -> None:
    asking.written.for_an_hour = True
    asking.written.say("more")
    asking.written.ends()
    for words in ("warm on", "warm on --yes"):
        assert "the cache of this session lasts an hour" in " ".join(asking.says(words).split())
        assert asking.data()["on"] is False
    assert (asking.data()["refused"], asking.data()["most"]) == ("hour", 0)


def test_where_it_is_configured_and_the_cache_lasts_an_hour_every_answer_says_why_nothing_is_sent(tmp_path: Path) -> None:
    asking = Asking(tmp_path, keep_warm="on")
    asking.written.for_an_hour = True
    asking.written.say("more")
    asking.written.ends()
    assert asking.line().startswith("Kept warm: on, but nothing is sent: the cache of this session lasts an hour")
    assert (asking.data()["on"], asking.data()["ended"], asking.data()["next_s"]) == (True, "hour", None)
    assert "Ended     the cache of this session lasts an hour" in asking.says("warm show")


def test_what_was_asked_for_and_never_answered_is_counted_as_spent(asking: Asking) -> None:
    asking.sent(1)
    store.journal(asking.written.site(asking.home).paths(), journal.warming("an answer before", 0.5, asking.written.now + 5))
    assert asking.data()["sent"]["usd"] == pytest.approx(0.5 + (0.1 * 30_200 + 1.25 * 90 + 10 + 20) * 5e-6, abs=1e-6)


def test_what_was_spent_at_another_price_stays_what_it_was(asking: Asking) -> None:
    paths = asking.written.site(asking.home).paths()
    store.journal(paths, journal.warmed(30_300, 30_200, 90, 4, asking.written.now, 1.25))
    asking.written.model = "claude-haiku-5-5"
    asking.written.say("more")
    asking.written.ends()
    assert asking.data()["sent"]["usd"] == 1.25


@pytest.mark.parametrize("why", [value for name, value in vars(warming).items() if name.isupper() and isinstance(value, str)])
def test_every_reason_has_words(asking: Asking, why: str) -> None:
    asking.says("warm on")
    asking.facts(ended=why, about="five_hour")
    asking.written.now += 1
    shown = asking.says("warm show")
    assert "Traceback" not in shown
    assert views._ENDED[why]


def test_what_was_sent_is_counted_in_the_session_and_since_the_answer(asking: Asking) -> None:
    asking.sent(2)
    asking.written.say("back")
    asking.written.ends("welcome")
    asking.sent(1)
    data = asking.data()["sent"]
    assert (data["requests"], data["in_a_row"]) == (3, 1)
    assert data["usd"] == pytest.approx(3 * (0.1 * 30_200 + 1.25 * 90 + 10 + 20) * 5e-6, abs=1e-6)


def test_a_cache_that_was_kept_warm_is_warm_for_every_answer(asking: Asking) -> None:
    asking.sent(2)
    site = asking.written.site(asking.home)
    site.remember(warming={"row": "end", "used": asking.written.now})
    asking.written.now += 60
    context = asking.data("retention --json")["context"]
    assert (context["cache"], context["cache_seconds_left"]) == ("warm", 240)
    assert "Cache     warm, 4 min left" in asking.says("retention")
    assert "cache warm 4 min" in asking.status_line()
    asking.written.now += 241
    assert asking.data("retention --json")["context"]["cache"] == "cold"
    assert "cache cold" in asking.status_line()
