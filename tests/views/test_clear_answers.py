"""What `clear`, `undo` and `restore` answer, and what the other answers say afterwards, kept as files. Told call by call of one session.

A clear goes by lifetime and grace here: the user has configured the profile `spec`. What is answered under `auto` is in
test_clear_auto_answers.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.views import clear
from tests.reclaim.earlier import answer
from tests.views.written import Written, long_session, spec_session

GOLDENS = Path(__file__).parent / "goldens"
COLD_S = 400.0  # after so long the cache of five minutes is gone


class Asking:
    """A session that is asked one thing after the other, under the profile that its user has configured; "" for none. Where Claude Code
    `compact`s, a clear takes nothing but what is worth clearing."""

    def __init__(self, written: Written, home: Path, profile: str = "spec", compact: str = "on") -> None:
        self.written = written
        self.home = home
        home.mkdir()
        config = {**({"profile": profile} if profile else {}), **({} if compact == "on" else {"compact": compact})}
        if config:
            (home / "retention-config.json").write_text(json.dumps(config))

    def __call__(self, line: str) -> str:
        shown = answer(line, self.written.site(self.home), str(self.written.path), self.written.now)
        self.written.now += 1
        return shown

    def dialogue(self, *lines: str) -> str:
        return "\n".join(f"> {line}\n{self(line)}\n" for line in lines)

    def data(self, line: str) -> dict:
        return json.loads(self(line + " --json"))

    def offered(self, line: str) -> str:
        """The last command that an answer gives to clear, without our name."""
        return [line_of_answer for line_of_answer in self(line).split("\n") if line_of_answer.startswith("  /popkit:context clear")][-1][
            len("  /popkit:context ") :
        ]

    def contents(self) -> list:
        """The contents of all results, as they stand in the transcript."""
        lines = map(json.loads, self.written.path.read_text().splitlines())
        blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"] if isinstance(block, dict)]
        return [block["content"] for block in blocks]


@pytest.fixture
def short(tmp_path: Path) -> Asking:
    return Asking(spec_session(tmp_path / "projects"), tmp_path / "home", compact="off")


@pytest.fixture
def long(tmp_path: Path) -> Asking:
    return Asking(long_session(tmp_path / "projects"), tmp_path / "home", compact="off")


@pytest.fixture
def cold(long: Asking) -> Asking:
    long.written.now += COLD_S
    return long


# --- the sum ------------------------------------------------------------------------------------------------------------------


def test_a_warm_cache_says_what_the_rewrite_costs_and_when_it_pays(long: Asking, golden) -> None:
    before = long.written.path.read_bytes()
    golden(GOLDENS / "clear-warm.txt", long.dialogue("clear --dry-run", "clear", "clear --now --dry-run"))
    assert long.written.path.read_bytes() == before
    data = long.data("clear")
    assert (data["cleared"], data["pays"], data["sum"]["warm"]) == (False, False, True)
    assert data["sum"]["pays_after"] > 14


def test_a_cold_cache_makes_it_pay_at_once(cold: Asking, golden) -> None:
    golden(GOLDENS / "clear-cold.txt", cold.dialogue("clear --dry-run", "clear", "clear"))
    assert sum("PopKit cleared" in content for content in cold.contents()) == 8


def test_a_forced_clear_that_costs_nothing_is_not_called_a_loss(short: Asking) -> None:
    short.written.now += COLD_S
    found = {**short.data("clear --id T9,T10 --now"), "pays": False}  # it is likely needed again, say
    assert found["sum"]["pays_after"] == 0
    assert clear._head(found) == "Cleared"


def test_a_clear_does_what_is_said_of_it(cold: Asking) -> None:
    planned, done = cold.data("clear --dry-run"), cold.data("clear")
    assert (planned["dry_run"], planned["cleared"], done["dry_run"], done["cleared"]) == (True, False, False, True)
    assert all(planned[key] == done[key] for key in ("items", "pays", "kept", "sum"))
    assert abs(planned["tokens"] - done["tokens"]) <= done["items"]  # each rounded by itself
    assert planned["results"] == done["results"]
    assert len([content for content in cold.contents() if content.startswith("[PopKit cleared ")]) == done["items"]


# --- what goes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("clear-forced-tier", "clear --tier session --now"),
        ("clear-forced-id", "clear --id T9,T10 --now"),
        ("clear-path", "clear src/*.ts --now"),
        ("clear-nothing-path", "clear docs/**"),
        ("clear-nothing-tier", "clear --tier preserved"),
        ("clear-unknown-id", "clear --id T99"),
        ("clear-no-id", "clear --id ,"),
        ("clear-nothing-id", "clear --id T9"),
    ],
)
def test_what_the_user_asks_for_goes(short: Asking, name: str, line: str, golden) -> None:
    golden(GOLDENS / f"{name}.txt", short.dialogue(line))


def test_pinned_results_are_shown_as_kept(short: Asking, golden) -> None:
    golden(GOLDENS / "clear-pinned.txt", short.dialogue("pin T5 T13", "clear --tier session --now", "clear --id T5"))
    assert [content for content in short.contents() if content.startswith("[PopKit")] == [short.contents()[6]]


def test_what_was_used_lately_is_held_back_until_it_is_asked_for(short: Asking) -> None:
    short.written.now += COLD_S
    kept = short.data("clear")
    assert kept["kept"]["grace"]["items"] == 3  # two reads, and a search whose time was up just now
    assert {row["kind"] for row in kept["results"]} == {"search", "run:test"}
    assert {row["kind"] for row in short.data("clear --now")["results"]} == {"read", "search"}


def test_a_session_without_a_transcript_has_nothing_to_clear(short: Asking, tmp_path: Path) -> None:
    shown = answer("clear", short.written.site(short.home), str(tmp_path / "none.jsonl"), short.written.now)
    assert "no transcript yet" in shown
    assert str(tmp_path) not in shown


def test_the_command_that_an_answer_gives_does_what_it_showed(short: Asking) -> None:
    for line in ("clear --now --dry-run", "clear --id T5 --dry-run", "clear 'src/*.ts' --dry-run --now", "clear --tier short", "clear"):
        planned = short.data(line)
        given = short.offered(line)
        data = short.data(given + " --dry-run")
        assert data["now"] is (planned["now"] or not planned["pays"])
        assert {row["id"] for row in planned["results"]} <= {row["id"] for row in data["results"]}


def test_a_result_is_cleared_by_its_number_alone(short: Asking) -> None:
    by_number, by_flag = (short.data(f"clear {which} --now --dry-run") for which in ("T9", "--id T9"))
    assert by_number["ids"]
    assert [by_number[name] for name in ("ids", "pattern", "results")] == [by_flag[name] for name in ("ids", "pattern", "results")]


@pytest.mark.parametrize("line", ["clear --tier short src/*.ts", "clear --tier short --id T2", "clear --id T2 src/*.ts"])
def test_one_way_to_say_what_goes_is_enough(short: Asking, line: str) -> None:
    assert "give clear one of a path, --tier and --id" in short(line)


# --- back -----------------------------------------------------------------------------------------------------------------------


def test_an_undo_says_what_went_back(cold: Asking, golden) -> None:
    cold("clear")
    golden(GOLDENS / "undo.txt", cold.dialogue("undo", "undo"))
    assert cold.data("retention")["cleared"]["items"] == 0


def test_nothing_can_be_undone_or_restored_before_a_clear(short: Asking, golden) -> None:
    golden(GOLDENS / "undo-nothing.txt", short.dialogue("undo", "restore T5", "restore abcd2345", "restore", "restore --since 2h"))


def test_a_restore_prints_what_was_cleared(short: Asking, golden) -> None:
    content = short.contents()[4]
    short("clear --tier session --now")
    golden(GOLDENS / "restore.txt", short.dialogue("restore T5", "restore T5 T7", "restore T3", "restore --since tomorrow"))
    handle = short.data("why T5")["handle"]
    for line in ("restore T5", f"restore {handle}", f"restore {handle[:5]}", "restore toolu_05Bash"):
        assert short(line) == "\n" + content
    assert short.data("restore T5")["records"][0]["content"] == content


# --- what the other answers say afterwards --------------------------------------------------------------------------------------


def test_every_answer_knows_what_was_cleared(short: Asking, golden) -> None:
    short.written.now += COLD_S
    short("clear --now")
    golden(GOLDENS / "cleared.txt", short.dialogue("retention --details", "timeline", "why T5", "clear"))


def _goes_on(asking: Asking, read: int, created: int, requests: int, prompt: str = "go on") -> None:
    """Requests as the host's usage tells of them."""
    asking.written.say(prompt)
    asking.written.tokens, asking.written.created = read, created
    for _ in range(requests):
        asking.written.grep("more")
        asking.written.created = 490


def test_a_ledger_with_a_gain_is_shown(cold: Asking, golden) -> None:
    cold.dialogue("clear")
    _goes_on(cold, 0, 61_335 - 12_000, 12)
    golden(GOLDENS / "ledger-gain.txt", cold.dialogue("retention", "stats"))
    metrics = cold.data("stats")["session"]
    assert metrics["figures"]["net_usd"] > 0
    assert metrics["tokens_reclaimed"] == metrics["figures"]["cleared_tokens"] > 10_000
    assert metrics["figures"]["pending_tokens"] == 0


def test_a_ledger_with_a_loss_is_shown_as_such(long: Asking, golden) -> None:
    long.dialogue("clear --now")
    _goes_on(long, 22_000, 22_000, 2)
    golden(GOLDENS / "ledger-loss.txt", long.dialogue("restore T9", "retention", "stats"))
    metrics = long.data("stats")["session"]
    assert metrics["figures"]["net_usd"] < 0 < metrics["tokens_reclaimed"]
    assert metrics["figures"]["cost_by_usd"]["rewrite"] > 0


def test_a_clear_that_the_client_has_not_loaded_reclaims_nothing(long: Asking) -> None:
    long.dialogue("clear --now")
    _goes_on(long, long.written.tokens, 490, 3)
    figures = long.data("stats")["session"]["figures"]
    assert (figures["cleared_tokens"], figures["saved_usd"]) == (0, 0)
    assert figures["pending_tokens"] > 15_000


def test_what_was_undone_before_a_request_leaves_nothing_pending(long: Asking) -> None:
    long.dialogue("clear --now", "undo")
    figures = long.data("stats")["session"]["figures"]
    assert (figures["pending_tokens"], figures["net_usd"]) == (0, 0)
