"""Pictures leave with a clear, which only text can survive: every answer says so, with the same counts, and how to see them."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from .asking import Helper, lines, numbered
from .running import Running
from .test_compactions import IMAGE, PIXEL, results


@pytest.fixture
def shown(helper: Helper) -> Helper:
    """A session that was shown a picture, and read a file that has been edited since."""
    transcript = helper.has_read("app.py", lines(400))
    transcript.called("toolu_01", "Read", {"file_path": str(helper.project / "pic.png")}, [IMAGE])
    change = {"file_path": str(helper.project / "app.py"), "old_string": "a" * 900, "new_string": "b" * 900}
    transcript.called("toolu_02", "Edit", change, "The file has been updated.")
    for number in range(12):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(30_000)
    return helper


def said(helper: Helper, words: str) -> str:
    return " ".join(helper.ask("/command", {"words": words, "columns": 100})["text"].split())


def data(helper: Helper, *words: str) -> dict[str, Any]:
    return json.loads(helper.run("context", *words, "--json", "--transcript", str(helper.transcript)))


def test_every_answer_counts_a_picture_among_what_leaves(shown: Helper):
    client = Running(shown)
    dry = said(shown, "clear --now --dry-run")
    assert "from 2 results" in dry
    assert "leave with it, because only text stays: T2. Undo does not bring them back" in dry
    assert "from 2 results" in said(shown, "clear --now")
    assert client.compacts(own=True)["notice"].endswith(" 2 results taken out, and all can be restored, pictures as files.")
    receipt = said(shown, "why")
    assert "2 results left the context, and all can be restored." in receipt
    assert "It shows a picture or a document" in receipt


def test_an_undo_puts_back_all_but_the_picture_and_names_it(shown: Helper):
    client = Running(shown)
    said(shown, "clear --now")
    client.compacts(own=True)
    undone = said(shown, "undo")
    assert "Pictures and documents stay out, for only text can come back. To see them: popkit restore " in undone
    assert "(Read pic.png)" in undone
    answer = client.compacts(own=True)
    assert answer["notice"].startswith("Put back in place: 1 result, ")
    assert results(answer["rows"])["toolu_00"] == numbered(lines(400))
    again = said(shown, "undo")
    assert "here is nothing to undo. Pictures and documents stay out" in again
    assert "Pictures and documents stay out" in said(shown, "restore T2 --in-place")
    told = shown.run("restore", again.partition("popkit restore ")[2].partition(" ")[0])
    assert Path(told.partition("Saved as ")[2].partition(": read")[0]).read_bytes() == b64decode(PIXEL)


def test_a_pinned_picture_leaves_too_and_the_dry_run_says_so(shown: Helper):
    assert "T2" in said(shown, "pin T2")
    found = data(shown, "clear", "--now", "--dry-run")
    assert (found["items"], found["pictures"]) == (2, [2])


def test_where_nothing_leaves_the_pictures_stay(shown: Helper):
    said(shown, "clear --now")
    Running(shown).compacts(own=True)
    found = data(shown, "clear", "--dry-run")
    assert (found["pictures"], found["shown"]) == ([], 0)


def test_pictures_of_the_persons_are_named_and_are_no_results(helper: Helper):
    transcript = helper.has_read("app.py", lines(400))
    transcript.asked([IMAGE, {"type": "text", "text": "what is this?"}])
    change = {"file_path": str(helper.project / "app.py"), "old_string": "a" * 900, "new_string": "b" * 900}
    transcript.called("toolu_02", "Edit", change, "The file has been updated.")
    for number in range(12):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(30_000)
    dry = said(helper, "clear --now")
    assert "from 1 result," in dry
    assert "because only text stays: 1 of yours." in dry
    assert " 1 result taken out" in Running(helper).compacts(own=True)["notice"]
    assert "1 result left the context" in said(helper, "why")
