"""What `clear` answers under `auto`, the profile that is shipped, and what the other answers say afterwards; kept as files.

How likely a result is needed again is told by a model of our own: the shipped one is learnt anew from time to time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core.policy.need_model import SCHEMA, NeedModel
from popkit_retention.core.policy.placeholder import handle_in
from popkit_retention.core.state import shipped
from tests.views.test_clear_answers import COLD_S, GOLDENS, Asking
from tests.views.written import Written, long_session, spec_session

NEED = {"bias": -1.0, "kind read": 1.0, "kind run": -0.5, "quiet": -0.5, "edited": -1.0, "replaced": -1.5, "old": -0.5}


@pytest.fixture(autouse=True)
def model_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "need_model", lambda: NeedModel(NEED))


def asked(written: Written, home: Path) -> Asking:
    return Asking(written, home, "", compact="off")


def wandered(folder: Path) -> Written:
    """A session that looked at much, then worked on one file for eight turns."""
    written = Written(folder)
    written.say("how does the checkout work?")
    steps = "".join(f"{n}\texport const handleCheckoutStep{n} = steps.of('src/checkout/step{n}.tsx');\n" for n in range(1, 121))
    written.call("Read", {"file_path": f"{written.project}/src/checkout.ts"}, steps)
    written.grep("handleCheckout", "".join(f"src/checkout/step{n}.tsx:7: handleCheckoutStep{n}(order)\n" for n in range(60)))
    written.read("src/cart.ts")
    written.edit("src/cart.ts")
    written.bash_fails("npm test", "FAIL src/cart.test.ts\n" * 40 + "Tests: 1 failed, 11 passed")
    written.bash("npm test", "PASS src/cart.test.ts\n" * 40 + "Tests: 12 passed")
    for turn in range(8):
        written.say(f"now part {turn} of the login")
        written.read("src/login.ts", 1, 20 + turn)
        for call in range(4):
            written.bash(f"mkdir -p out/{turn}/{call}", "made it")
    return written


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return asked(wandered(tmp_path / "projects"), tmp_path / "home")


@pytest.fixture
def cold(asking: Asking) -> Asking:
    asking.written.now += COLD_S
    return asking


@pytest.mark.parametrize("waits", ["warm", "cold"])
def test_what_leaves_a_cold_cache_goes_on_to_what_is_needed_least(tmp_path: Path, waits: str, golden) -> None:
    written = wandered(tmp_path / "projects")
    written.now += COLD_S if waits == "cold" else 0.0
    asking = Asking(written, tmp_path / "home", "")
    golden(GOLDENS / f"compacts-{waits}.txt", asking.dialogue("retention", "clear --dry-run", "auto show"))


def test_where_only_a_cold_cache_lets_anything_leave_now_says_so_and_how_to_choose(tmp_path: Path, golden, monkeypatch) -> None:
    monkeypatch.setattr(shipped, "need_model", lambda: NeedModel({**NEED, "bias": 9.0}))
    written = Written(tmp_path / "projects")
    written.say("read it all")
    for number in range(8):
        written.bash(f"cat part{number}.py", "".join(f"answer_{number}_{line} = compute({line})\n" for line in range(400)))
    asking = Asking(written, tmp_path / "home", "")
    golden(GOLDENS / "auto-nothing-now.txt", asking.dialogue("clear", "clear --now", "clear --now --dry-run"))


def _placeholders(asking: Asking) -> list:
    return [content for content in asking.contents() if handle_in(content)]


def test_with_a_cold_cache_long_unused_results_go_at_once_and_no_more_right_after(cold: Asking, golden) -> None:
    golden(GOLDENS / "auto-cold.txt", cold.dialogue("clear --dry-run", "clear", "clear"))
    assert len(_placeholders(cold)) == 13
    outlines = [content.partition("\n")[2] for content in _placeholders(cold)]
    assert "handleCheckoutStep1" in outlines[0]


def test_afterwards_the_other_answers_tell_why_it_went_and_how_it_comes_back(cold: Asking, golden) -> None:
    cold("clear")
    golden(GOLDENS / "auto-after.txt", cold.dialogue("why T1", "why T3", "why T5", "retention", "restore T6", "undo"))


def test_a_warm_cache_in_which_it_does_not_pay_changes_nothing(asking: Asking, golden) -> None:
    before = asking.written.path.read_bytes()
    golden(GOLDENS / "auto-warm.txt", asking.dialogue("clear", "clear --dry-run", "clear --now --dry-run"))
    assert asking.written.path.read_bytes() == before
    answer = asking.data("clear")
    assert (answer["cleared"], answer["pays"], answer["sum"]["warm"]) == (False, False, True)


def test_under_a_profile_of_lifetimes_a_warm_cache_is_no_hindrance_where_it_pays(tmp_path: Path, golden) -> None:
    written = Written(tmp_path / "projects")
    written.say("read it all")
    for number in range(6):
        written.bash("npm test", f"Tests: {number} passed\n" * 400)
    for number in range(3):
        written.bash(f"mkdir -p out/{number}", "made it")
    asking = Asking(written, tmp_path / "home", "spec")
    golden(GOLDENS / "spec-warm-pays.txt", asking.dialogue("clear --dry-run", "clear"))
    answer = asking.data("retention")
    assert answer["cleared"]["items"] == 5, "the newest was used lately"


def test_where_nothing_is_worth_it_the_answer_says_so(tmp_path: Path, golden) -> None:
    written = Written(tmp_path / "projects")
    written.say("fix the login")
    for number in range(3):
        written.read(f"src/part{number}.ts")
    written.bash("git status", "nothing to commit, working tree clean")
    written.now += COLD_S
    asking = asked(written, tmp_path / "home")
    golden(GOLDENS / "auto-nothing.txt", asking.dialogue("clear", "clear src/part1.ts", "clear --dry-run", "clear --now"))
    assert _placeholders(asking) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [("auto-path", "clear src/checkout.ts"), ("auto-nothing-path", "clear docs/**"), ("auto-forced-id", "clear --id T1,T2 --now")],
)
def test_what_the_user_asks_for_goes(cold: Asking, name: str, line: str, golden) -> None:
    golden(GOLDENS / f"{name}.txt", cold.dialogue(line))


def test_a_clear_does_what_is_said_of_it(cold: Asking) -> None:
    planned, done = cold.data("clear --dry-run"), cold.data("clear")
    assert (planned["dry_run"], planned["cleared"], done["dry_run"], done["cleared"]) == (True, False, False, True)
    assert all(planned[key] == done[key] for key in ("items", "pays", "kept", "sum", "profile", "likely_requests"))
    assert [(row["id"], row["need"]) for row in planned["results"]] == [(row["id"], row["need"]) for row in done["results"]]
    assert abs(planned["tokens"] - done["tokens"]) <= sum(row["tokens"] for row in done["results"]) / 10, (
        "outlines are counted at their longest"
    )
    assert len(_placeholders(cold)) == done["items"]


@pytest.mark.parametrize("left", ["{", json.dumps({"schema": SCHEMA, "weights": {"bias": 9.0}})])
def test_a_model_that_lies_in_our_folder_changes_nothing(cold: Asking, tmp_path: Path, left: str) -> None:
    before = cold.data("clear --dry-run")
    (tmp_path / "home" / "need-model.json").write_text(left)
    assert cold.data("clear --dry-run") == before


@pytest.mark.parametrize("session", [wandered, long_session, spec_session])
@pytest.mark.parametrize("line", ["clear", "clear --now", "clear '*.ts*'", "clear --dry-run"])
def test_the_command_that_an_answer_gives_does_what_it_showed(tmp_path: Path, session, line: str) -> None:
    asking = asked(session(tmp_path / "projects"), tmp_path / "home")
    planned = asking.data(line + " --dry-run")
    given = asking.offered(line + " --dry-run")
    answer = asking.data(given)
    assert answer["cleared"] is True
    assert {row["id"] for row in planned["results"]} <= {row["id"] for row in answer["results"]}


# --- a model that binds its thinking to an unedited past ----------------------------------------------------------------------------


@pytest.fixture
def thoughtful(tmp_path: Path) -> Asking:
    """A session with a model that loses the reasoning behind what changes."""
    written = Written(tmp_path / "projects")
    written.model = "claude-opus-5-5"
    written.say("read it all")
    for number in range(6):
        written.bash("npm test", f"Tests: {number} passed\n" * 400)
        written.call("Bash", {"command": f"mkdir -p out/{number}"}, "made it", thought="Then the next part has to be looked at. " * 40)
    written.ends()
    return asked(written, tmp_path / "home")


def test_the_reasoning_that_a_clear_loses_is_named(thoughtful: Asking, golden) -> None:
    thoughtful.written.now += COLD_S
    answer = thoughtful.data("clear --dry-run")
    assert answer["thinking"] > 1_000
    golden(GOLDENS / "bound-cold.txt", thoughtful.dialogue("clear --now", "undo"))


def test_a_clear_that_loses_reasoning_and_does_not_pay_is_not_offered(thoughtful: Asking, golden) -> None:
    golden(GOLDENS / "bound-warm.txt", thoughtful.dialogue("clear"))
    assert "--now" not in thoughtful("clear")
    assert thoughtful.data("retention")["verdict"]["kind"] != "clear"


def test_why_a_result_stays_says_where_what_is_needed_least_may_still_take_it(tmp_path: Path) -> None:
    written = wandered(tmp_path / "projects")
    for number in range(4):
        written.call("Read", {"file_path": f"{written.project}/src/last{number}.ts"}, f"export const last{number} = 1\n" * 200)
    written.now += COLD_S
    asking = Asking(written, tmp_path / "home", "")
    report = asking.data("retention")
    assert report["reclaimable"]["now"]["further"]
    staying = [row for row in report["results"] if row["plan"] and row["plan"]["reason"] == "in_use"]
    words = " ".join(asking(f"why T{staying[0]['number']}").split())
    assert "it stays, unless it is among what is needed least: it was used in the last 4 calls" in words
