"""What a person sees and does through the helper: the answers in words, the pane's pages and operations."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core import text
from popkit_retention.core.handlers import context_monitor
from popkit_retention.core.helper import commands, drawing
from popkit_retention.core.helper.commands import Commands
from popkit_retention.core.helper.compactions import Compactions
from popkit_retention.core.helper.drawing import PaneRequest
from popkit_retention.core.helper.pane import Pane
from popkit_retention.core.helper.prompt_cache import Misses
from popkit_retention.core.helper.reported import ClientReports
from popkit_retention.core.reclaim import outlook
from popkit_retention.core.state import journal, status_line, store
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.views import report
from tests.patience import HANG_S
from tests.views.test_clear_answers import COLD_S, Asking
from tests.views.test_clear_auto_answers import wandered
from tests.views.written import long_session

from .asking import SESSION, Helper, Transcript, lines, numbered
from .running import Running


def test_the_answers_are_those_of_the_command(helper: Helper):
    helper.has_read("app.py", lines(400))
    timeline = helper.ask("/command", {"words": "timeline", "columns": 70})["text"]
    assert "Read app.py" in timeline
    view = helper.ask("/view", {"columns": 70})
    assert view["band"] is None
    assert view["pane"]["head"] == ["Nothing to do: everything in the context is worth keeping"]
    assert any(line.startswith("Tier") for line in view["pane"]["lines"])
    assert helper.ask("/press", {"id": "rm -rf"}) == {"text": ""}
    assert "Nothing" in helper.ask("/press", {"id": "clear", "columns": 70})["text"]


def test_the_pane_has_pages_and_an_unknown_one_is_the_first(helper: Helper):
    helper.has_read("app.py", lines(400))
    shown = helper.ask("/view", {"page": "another"})["pane"]
    assert shown["page"] == "now"
    assert [page["id"] for page in shown["pages"]] == ["now", "results", "saved", "settings", "bill"]
    assert len({page["key"] for page in shown["pages"]}) == 5


def test_the_bill_page_begins_with_the_plan_s_limits_where_a_window_is_running(helper: Helper):
    helper.has_read("app.py", lines(400))
    before = helper.ask("/view", {"page": "bill"})["pane"]["lines"]
    assert not any("Limits of your plan" in line for line in before)
    now = time.time()
    rows = [["five_hour", now - back, 62 - back / 60, now + 9_000] for back in (1_200, 600, 0)]
    (helper.home / "limits.json").write_text(json.dumps(rows))
    shown = "\n".join(helper.ask("/view", {"page": "bill"})["pane"]["lines"])
    assert shown.startswith("Limits of your plan")
    assert re.search(r"5 h +62%, full .*, 60\.0% an hour, resets", shown)
    assert "What the bill was made of" in shown


def test_a_chosen_result_says_why_and_what_to_do_about_it_and_that_can_be_undone(helper: Helper):
    helper.has_read("app.py", lines(400))
    shown = helper.ask("/view", {"page": "results"})["pane"]
    assert "Tool call timeline" in shown["lines"][0]
    assert (shown["choices"]["value"], shown["operations"]) == ("", [])
    chosen = shown["choices"]["options"][0]
    assert chosen["label"] == "T1 Read app.py"
    shown = helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]
    assert any(line.startswith("Clear     it stays") for line in shown["lines"])
    (pin,) = shown["operations"]
    assert (pin["id"], pin["label"]) == ("pin T1", "Pin")
    assert "stays live until" in helper.ask("/press", {"id": pin["id"]})["text"]
    (unpin,) = helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]["operations"]
    assert (unpin["id"], unpin["label"]) == ("unpin T1", "Unpin")
    helper.ask("/press", {"id": unpin["id"]})
    assert helper.ask("/view", {"page": "results", "chosen": chosen["value"]})["pane"]["operations"] == [pin]


def test_a_reference_can_be_shown_whole_in_the_pane_without_counting_as_restored(helper: Helper):
    first, _ = helper.read("app.py", lines(400))
    id, entered = helper.read("app.py", lines(400))
    assert "as in your " in entered
    transcript = helper.has_read("app.py", lines(400), first)
    transcript.called(id, "Read", {"file_path": str(helper.project / "app.py")}, entered)
    shown = helper.ask("/view", {"page": "results", "chosen": id})["pane"]
    show = next(operation for operation in shown["operations"] if operation["label"] == "Show all of it")
    before = helper.journal()
    rows = helper.ask("/press", {"id": show["id"]})["text"].split("\n")
    assert rows[1:] == numbered(lines(400)).split("\n")
    assert helper.journal() == before


def test_a_cleared_result_can_be_put_back_from_the_pane(helper: Helper):
    transcript = helper.has_read("app.py", lines(400))
    transcript.called("toolu_01", "Read", {"file_path": str(helper.project / "other.py")}, numbered(lines(400, "other")))
    transcript.answered(9_000)
    before = helper.transcript.read_text()
    assert helper.ask("/press", {"id": "clear --id T1 --now"})["compact"] is True
    Running(helper).compacts(own=True)
    assert "[PopKit cleared " in helper.transcript.read_text()
    shown = helper.ask("/view", {"page": "results", "chosen": "toolu_00"})["pane"]
    assert [operation["label"] for operation in shown["operations"]] == ["Put back", "Show all of it"]
    back, show = (operation["id"] for operation in shown["operations"])
    assert "value_400 = compute" in helper.ask("/press", {"id": show})["text"]
    assert helper.ask("/press", {"id": back})["compact"] is True
    client = Running(helper)
    client.compacts(own=True)
    assert client.rows()[2]["toolResults"][0]["text"] == numbered(lines(400))
    assert helper.transcript.read_text().startswith(before), "the client writes, we do not"


def test_the_window_and_the_cost_are_what_the_client_says(helper: Helper):
    transcript = helper.has_read("app.py", lines(400))
    transcript.answered(9_000)
    helper.ask("/rows", {"usage": {"window": 345_678, "usd": 0.42}})
    shown = " ".join(" ".join(helper.ask("/view")["pane"]["lines"]).split())
    assert "Context 9,000 of the 312,678 tokens at which Claude Code compacts (3%)" in shown
    assert "9,000 of the 312,678 tokens" in helper.run("context", "--session", helper.session)
    helper.ask("/breakdown", {"breakdown": {"isAutoCompactEnabled": True, "autoCompactThreshold": 200_000}})
    assert "9,000 of the 200,000 tokens" in helper.run("context", "--session", helper.session), "it says so itself"
    saved = helper.ask("/view", {"page": "saved", "usage": {"window": 345_678, "usd": 1.5}})["pane"]["lines"]
    assert "Claude Code counts $1.50 for the whole session so far." in saved


@pytest.mark.parametrize("usage", [7, [], {}, {"window": "many"}, {"window": -1, "usd": -1}, {"window": True, "usd": True}, {"usd": "NaN"}])
def test_what_the_client_says_wrongly_is_passed_over(helper: Helper, usage: object):
    helper.has_read("app.py", lines(400)).answered(9_000)
    lines_before = helper.ask("/view")["pane"]["lines"]
    assert helper.ask("/view", {"usage": usage})["pane"]["lines"] == lines_before
    assert not any("Claude Code counts" in line for line in helper.ask("/view", {"page": "saved"})["pane"]["lines"])


def test_a_page_shows_what_was_saved(helper: Helper):
    assert "Net: PopKit has saved and cost nothing yet" in helper.ask("/view", {"page": "saved"})["pane"]["lines"]
    first, _ = helper.read("app.py", lines(400))
    id, entered = helper.read("app.py", lines(400))
    transcript = helper.has_read("app.py", lines(400), first)
    transcript.called(id, "Read", {"file_path": str(helper.project / "app.py")}, entered)
    page = " ".join(" ".join(helper.ask("/view", {"page": "saved"})["pane"]["lines"]).split())
    assert "This session: kept out ~" in page


@pytest.mark.parametrize("words", ["show", "show T99", "show nothing of the kind"])
def test_what_is_not_there_cannot_be_shown(helper: Helper, words: str):
    helper.has_read("app.py", lines(400))
    assert helper.ask("/press", {"id": words})["text"].startswith("PopKit: ")


def test_whether_it_compacts_by_itself_is_switched_on_the_users_word(helper: Helper):
    helper.has_read("app.py", lines(400))
    helper.ask("/press", {"id": "auto off"})
    shown = helper.ask("/view", {"page": "settings"})["pane"]
    assert any(line.startswith("It is off. Nothing leaves") for line in shown["lines"])
    assert shown["operations"][0]["id"] == "auto on"
    helper.ask("/press", {"id": "auto on"})
    assert helper.ask("/view", {"page": "settings"})["pane"]["operations"][0]["id"] == "auto off"


def test_once_a_session_a_person_is_told_how_much_was_kept_out_when_it_is_much(helper: Helper):
    texts = [lines(250, f"name{number}") for number in range(4)]
    transcript = Transcript(helper.transcript, helper.project)
    toasts = []
    for number, shown in enumerate(texts):
        for _ in range(2):
            id, entered = helper.read(f"file{number}.py", shown)
            transcript.called(id, "Read", {"file_path": str(helper.project / f"file{number}.py")}, entered)
        assert helper.ask("/view", {})["toast"] == "", "a turn is at work"
        toasts.append(helper.ask("/view", {"turn_ended": True})["toast"])
    assert toasts[0] == "", "a little is not worth a word"
    (toast,) = filter(None, toasts)
    assert re.fullmatch(r"kept \d+k tokens out of this session", toast)
    figures = json.loads(helper.run("context", "--json", "--session", helper.session))["figures"]
    assert figures["kept_out_tokens"] >= 10_000


def test_the_plan_s_limits_are_kept_and_shown_in_one_line_or_not_at_all_without_any(helper: Helper):
    helper.has_read("app.py", lines(400))
    assert not any(line.startswith("Limits") for line in helper.ask("/view", {"columns": 70})["pane"]["lines"])
    limits = [{"kind": "five_hour", "percentUsed": 62, "resetsAt": "2099-01-01T00:00:00Z"}, {"kind": "seven_day", "percentUsed": 31.2}]
    usage = {"window": 1_000_000, "usd": 0.4, "limits": limits}
    shown = helper.ask("/view", {"columns": 70, "usage": usage, "turn_ended": True})["pane"]
    assert [line for line in shown["lines"] if line.startswith("Limits")] == ["Limits    5 h 62% · 7 d 31%"]
    assert [row[2] for row in json.loads((helper.home / "limits.json").read_text())] == [62, 31.2]


def test_two_helpers_keep_one_history(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("h")
    both = [Helper(folder), Helper(folder)]
    try:
        for percent in range(40):
            usage = {"limits": [{"kind": "five_hour", "percentUsed": percent, "resetsAt": "2099-01-01T00:00:00Z"}]}
            both[percent % 2].ask("/rows", {"usage": usage})
        assert [row[2] for row in json.loads((both[0].home / "limits.json").read_text())] == list(range(40))
        assert both[0].failures() == ""
    finally:
        for each in both:
            each.stop()


# --- layout ---------------------------------------------------------------------------------------------------------------------------

GOLDENS = Path(__file__).parent / "goldens"
SMALL = (68, 11)  # columns and rows of a pane in a terminal of 80x40
SIZES = [(40, 40), (49, 40), (60, 40), (76, 40), (100, 40), SMALL]


def _drawn(shown: dict[str, Any]) -> list[str]:
    """The rows of a page as the mod stacks them, but for its tabs."""
    operations = [f"[ {operation['label']} ] {operation['sum']}" for operation in shown["operations"]]
    return [*shown["head"], *operations, *shown["lines"]]


def _page(name: str, asking: Asking, columns: int, rows: int, chosen: str = "", full: str = "") -> dict[str, Any]:
    site = asking.written.site(asking.home)
    data = report.build(outlook.look(site, str(asking.written.path), asking.written.now))
    return drawing.page(name, data, chosen, text.width_of(columns), rows, full=full)


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    """A session of which much would leave, and of which a result entered shorter."""
    written = wandered(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    id = asking.data("retention")["results"][-3]["id"]
    noted = journal.entered(id, [], "abcd2345", 11_000, 1_000, 300, ["noise"], written.now - 60)
    store.journal(written.site(asking.home).paths(), noted)
    written.now += COLD_S
    return asking


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_first_page(asking: Asking, columns: int, rows: int, golden) -> None:
    drawn = _drawn(_page("now", asking, columns, rows))
    golden(GOLDENS / f"pane-{columns}x{rows}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [40, 72])
def test_the_first_page_has_the_plan_s_limits_below_the_context(asking: Asking, columns: int, golden) -> None:
    drawn = _drawn(_page("now", asking, columns, 40, full="5 h 62%, full at 16:40 · 7 d 31%"))
    golden(GOLDENS / f"pane-limits-{columns}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [49, 76])
def test_the_page_of_results(asking: Asking, columns: int, golden) -> None:
    drawn = _drawn(_page("results", asking, columns, 40, "toolu_0005"))
    golden(GOLDENS / f"pane-results-{columns}.txt", "\n".join(drawn) + "\n")


@pytest.mark.parametrize("columns", [40, 49, 60, 76, 100, 110])
@pytest.mark.parametrize("cold_s", [0, COLD_S])
@pytest.mark.parametrize("session", [wandered, long_session])
def test_no_row_is_wider_than_the_pane_and_nothing_is_cut(tmp_path: Path, columns: int, cold_s: float, session) -> None:
    written = session(tmp_path / "projects")
    asking = Asking(written, tmp_path / "home", "auto")
    written.now += cold_s
    shown = _page("now", asking, columns, 40)
    drawn = _drawn(shown)
    assert max(map(text.width, [*shown["head"], *shown["lines"]])) <= columns, "what an operation comes to is wrapped beside its button"
    assert not any(line.endswith(text.ELLIPSIS) for line in drawn if not line.startswith(" "))
    joined = " ".join(" ".join(drawn).split())
    wide = " ".join(" ".join(_drawn(_page("now", asking, 110, 40))).split())
    for reason in ("edited or committed", "at the next call", "is what leaves, placeholders subtracted"):
        assert (reason in joined) == (reason in wide)


def test_what_matters_most_is_in_the_first_rows_however_few_there_are(asking: Asking) -> None:
    columns, rows = SMALL
    first = _drawn(_page("now", asking, columns, rows))[: rows - 1]
    assert first[0].startswith("Clear now: ")
    assert first[1].startswith("[ Clear ]")
    assert any(line.startswith("Context") for line in first)
    assert first[-2].split()[1] != "in", "results are named"
    assert " more" in first[-1], "and the others counted in the last row"


# --- the band -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def band_asking(tmp_path: Path) -> Asking:
    """A session whose cache is warm; once it is cold, a clear would take nearly 14,000 of 50,000 tokens."""
    return Asking(wandered(tmp_path / "projects"), tmp_path / "home", "auto")


def _band(band_asking: Asking, window: int) -> tuple[str, str]:
    """(kind of the verdict, what the band says) where the window has so many tokens."""
    written = band_asking.written
    site = written.site(band_asking.home)
    site.remember(window_tokens=window)
    pane = Pane(
        str(written.path),
        Commands({"POPKIT_HOME": str(band_asking.home)}, str(band_asking.home)),
        Compactions(SessionNotes(site.home, site.session_id)),
        Misses(str(written.path), 0),
        ClientReports(),
    )
    band = pane.view(site, PaneRequest("now", "", 110, 40, False), written.now)["band"]
    return outlook.look(site, str(written.path), written.now).verdict["kind"], band["text"] if band else ""


def test_where_one_can_only_wait_nothing_is_said(band_asking: Asking) -> None:
    assert _band(band_asking, 200_000) == ("wait", "")


def test_near_the_limit_nobody_is_asked_to_wait(band_asking: Asking) -> None:
    kind, band = _band(band_asking, 54_000)
    assert kind == "wait"
    assert band.startswith("Full: /compact (what is dead goes first); in ")
    assert band.endswith(" a clear takes ~14k")


def test_a_clear_of_a_tenth_of_the_window_is_suggested_once_it_pays(band_asking: Asking) -> None:
    band_asking.written.now += COLD_S
    assert _band(band_asking, 90_000) == ("clear", "Clear now: the cache is cold, so ~14k tokens leave, saving ~$0.18")
    assert _band(band_asking, 200_000) == ("clear", "")


def test_help_lists_all_words_that_work_and_answers_name_the_command_as_it_is_typed(helper: Helper):
    helper.has_read("app.py", lines(400))
    listed = helper.told("help")
    for word in ("bill", "bill limits", "bill misses", "budget", "try", "doctor"):
        assert re.search(rf"^ *{word}  ", listed, re.MULTILINE), word
        explained = helper.told(f"help {word}")
        assert explained.startswith(f"popkit {word}"), explained
    assert "checks" in helper.told("doctor --json")
    assert "unknown" in helper.told("nonsense").lower()
    words = ("", "help", "why T1", "pin T1", "clear", "cold", "memory on", "memory status", "nonsense")
    answers = [helper.told(each) for each in words]
    assert [answer for answer in answers if "popkit:context" in answer] == []
    assert any("/popkit retention --profile" in answer for answer in answers)


def test_the_line_under_the_prompt_is_drawn_once_the_person_wants_it(helper: Helper):
    """A client that can draw it is remembered."""
    helper.has_read("app.py", lines(400)).answered(9_000)
    helper.ask("/view", {"columns": 100})
    assert not status_line.has_site(str(helper.home))
    assert helper.ask("/view", {"columns": 100, "status_site": True})["status"] == ""
    assert status_line.has_site(str(helper.home))
    assert "No settings were changed" in helper.run("statusline", "install")
    shown = helper.ask("/view", {"columns": 100})["status"]
    assert re.fullmatch(r"context \d+% · .*reclaimable.* · cache \w+.*", shown), shown
    helper.run("statusline", "uninstall")
    assert helper.ask("/view", {"columns": 100})["status"] == ""


@pytest.mark.parametrize("is_helped", [True, False])
def test_a_notice_names_the_command_that_is_answered_there(helper_with: Callable[..., Helper], is_helped: bool):
    helper = helper_with({"window_tokens": 200_000, "profile": "spec"})
    transcript = helper.has_read("app.py", lines(400))
    for number in range(1, 4):
        transcript.called(f"toolu_0{number}", "Bash", {"command": "npm test"}, "\n".join(lines(1_500, f"run_{number}")))
    transcript.answered(170_000)
    if not is_helped:
        helper.stop()
    stop = {"hook_event_name": "Stop", "session_id": SESSION, "transcript_path": str(helper.transcript), "cwd": str(helper.project)}
    told = (context_monitor.handle(stop, helper.env) or {}).get("systemMessage", "")
    assert ("/popkit:context clear" if not is_helped else "/popkit clear") in told


def test_a_command_slower_than_a_person_s_patience_is_answered_when_asked_again(helper: Helper, monkeypatch: pytest.MonkeyPatch):
    asked = Commands(helper.env, str(helper.project))
    monkeypatch.setattr(commands, "_PATIENCE_S", 0.0)
    assert "still working on this" in asked.run("bill limits --json")
    late = asked._late["bill limits --json"]
    monkeypatch.setattr(commands, "_PATIENCE_S", HANG_S)
    assert json.loads(asked.run("bill limits --json")) == json.loads(late.wait() or "")
    assert asked._late == {}
