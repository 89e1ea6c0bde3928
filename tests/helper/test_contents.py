"""Contents at the door: odd ones enter as they came, or shorter with all of it in the archive; their calls are masked ahead; and what the
helper keeps of them has a bound."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import helper_memory
from benchmarks.helper_memory import MOST_MB, measure
from popkit_retention.core import archive
from popkit_retention.core.helper import shown_context
from popkit_retention.core.helper.arriving import Row, calls_of
from popkit_retention.core.helper.door import MOST_AGENTS, Door
from popkit_retention.core.helper.shown_context import MOST_BYTES, Context
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.hosts.transcripts.attachments import Attachments
from popkit_retention.core.hosts.transcripts.sent import MOST_NAMES, GrowingTranscript
from popkit_retention.core.policy import masking
from popkit_retention.core.policy.door import Lines, Source
from popkit_retention.core.policy.messages import Use
from popkit_retention.core.policy.ways import mask_ahead

from .asking import SESSION, Helper, lines, numbered

_RANDOM = random.Random(3)
_BYTES = bytes(_RANDOM.randrange(256) for _ in range(6_000))
_PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(_BYTES).decode()}}
_PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(_BYTES).decode()}}
_CELLS = [
    {"cell_type": "code", "id": f"c{n}", "source": [f"x{n} = {n}\n", "x"], "outputs": [{"data": {"image/png": "iVBOR" + "A" * n}}]}
    for n in range(60)
]
_NOTEBOOK = json.dumps({"cells": _CELLS, "nbformat": 4}, indent=1)
_CELL_TEXTS = [{"type": "text", "text": f'<cell id="c{n}">x{n} = {n}</cell id="c{n}">'} for n in range(30)]
_JSON = json.dumps([{"id": n, "ok": n % 2 == 0, "note": "ü\u2028"} for n in range(200)], indent=2, ensure_ascii=False)
READ, NOTEBOOK, RUN = "Read", "NotebookEdit", "Bash"

CONTENTS: dict[str, tuple[str, Any]] = {
    "notebook as JSON": (READ, numbered(_NOTEBOOK.split("\n"))),
    "notebook as blocks": (READ, [*_CELL_TEXTS[:10], _PNG, *_CELL_TEXTS[10:]]),
    "edited notebook": (NOTEBOOK, "Updated cell c3 with x3 = 4"),
    "image": (READ, [_PNG]),
    "image beside a text": (READ, [{"type": "text", "text": "\n".join(f"line {n} of it" for n in range(40))}, _PNG]),
    "document": (READ, [_PDF]),
    "document beside a text": (READ, [{"type": "text", "text": "PDF file read"}, _PDF]),
    "JSON": (RUN, _JSON),
    "JSON in a line": (RUN, json.dumps(json.loads(_JSON))),
    "bytes read as Latin-1": (RUN, _BYTES.decode("latin-1").replace("\x1b", "").replace("\r", "").replace("\b", "")),
    "bytes replaced": (RUN, _BYTES.decode("utf-8", "replace").replace("\x1b", "").replace("\r", "").replace("\b", "")),
    "NUL": (RUN, "a\x00b\n" * 3 + "c\x00"),
    "lone surrogates": (RUN, "".join(f"name {n} \udc80\ud83d\n" for n in range(30))),
    "base64": (RUN, base64.encodebytes(_BYTES * 4).decode()),
    "a line of 10 MB": (RUN, "x1" * 5_000_000),
    "many lines in 10 MB": (READ, numbered([f"value {n} = {n * 7}" + " + 1" * 20 for n in range(100_000)])),
    "nothing": (RUN, ""), "null": (RUN, None), "no blocks": (RUN, []), "a block of no kind": (RUN, [{"x": 1}, "text", 3]),
}  # fmt: skip


def _asked(tool: str, number: int) -> dict[str, Any]:
    return {"command": f"show {number}"} if tool == RUN else {"file_path": f"/shop/{number}.x", "notebook_path": f"/shop/{number}.x"}


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]


def _others(content: Any) -> list[Any]:
    return [] if isinstance(content, str) else [block for block in content if block.get("type") != "text"]


@pytest.mark.parametrize("name", CONTENTS)
def test_it_enters_as_it_came_or_shorter_with_all_of_it_in_the_archive(helper: Helper, name: str):
    tool, content = CONTENTS[name]
    answers = [helper.result(tool, _asked(tool, number), content) for number in (1, 2)]
    for id, answer in answers:
        if not answer:
            continue  # as it came, to the byte
        [block] = answer["content"]
        assert (block["type"], block["tool_use_id"]) == ("tool_result", id)
        assert type(block["content"]) is type(content)
        assert _others(block["content"]) == _others(content)
        [entered], [whole] = _texts(block["content"]), _texts(content)
        assert len(entered) < len(whole)
        db = archive.open_archive(str(helper.home / "archive.sqlite"))
        try:
            [kept] = [record for record in archive.find_records(db) if record.tool_use_id == id]
            assert json.loads(archive.retrieve_record(db, kept.id)["content"]) == content
        finally:
            db.close()
    assert helper.failures() == ""


@pytest.mark.parametrize("name", [name for name, (_, content) in CONTENTS.items() if isinstance(content, list) or content is None])
def test_what_is_no_single_text_is_not_touched_the_first_time(helper: Helper, name: str):
    tool, content = CONTENTS[name]
    assert helper.result(tool, _asked(tool, 1), content)[1] == {}


def test_a_row_that_is_not_utf_8_or_deeper_than_json_goes_allows_the_next_one(helper: Helper):
    raw = b'{"message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "\xff\xfe\x00"}]}, "calls": {}}'
    assert helper.ask("/row", raw=raw) == {}
    assert helper.ask("/row", raw=b'{"message": ' + b'{"content": ' * 50_000) == {}
    assert helper.read("app.py", ["a"])[1] == "1\ta"


# --- masked ahead ---------------------------------------------------------------------------------------------------------------------


def test_what_a_list_says_of_a_call_is_masked_before_it_is_asked_for():
    command = f"curl -H 'Authorization: Bearer {'k3y' * 9}' https://shop/{time.monotonic_ns()}"
    mask_ahead(Use("toolu_1", TOOLS.of("Bash"), {"command": command}))
    assert masking._known[command, False] == masking.mask(command) != command


def test_the_call_of_what_enters_is_masked_ahead_once_that_has_been_answered(tmp_path: Path):
    put_off: list[tuple[Any, ...]] = []
    environ = {"HOME": str(tmp_path), "POPKIT_HOME": str(tmp_path / "popkit")}
    door = Door(environ, SESSION, str(tmp_path / f"{SESSION}.jsonl"), str(tmp_path), lambda *work: put_off.append(work))
    row = Row({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "so"}]})
    door.row(row, calls_of({"toolu_1": {"tool": "Bash", "input": {"command": "ls"}}}), "", str(tmp_path))
    assert [what[0].input for work, *what in put_off if work is mask_ahead] == [{"command": "ls"}]


# --- bounds ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "compact_every", "pane_every"),
    [
        pytest.param(1_000, 0, 0, marks=pytest.mark.slow),
        (1_000, 400, 250),
        pytest.param(20_000, 0, 0, marks=pytest.mark.slow),
        pytest.param(20_000, 400, 0, marks=pytest.mark.slow),
        pytest.param(20_000, 400, 500, marks=pytest.mark.slow),
    ],
)
def test_a_helper_stays_below_60_mb_however_much_it_is_given(
    tmp_path_factory: pytest.TempPathFactory, results: int, compact_every: int, pane_every: int
):
    found = measure(results, tmp_path_factory.mktemp("h") / "in", compact_every=compact_every, pane_every=pane_every)
    if found["rss_mb"] is None:
        pytest.skip("this system does not tell how much memory a process has")
    assert (found["rows"], found["rewritten"] > results // 10) == (results, True)
    assert found["rss_mb"] <= MOST_MB


def test_what_is_shown_has_a_bound_that_holds_a_whole_window():
    context, count = Context(), 200
    for number in range(count):
        shown = [f"{number} {line}" for line in range(1_000)]
        context.show(Source(f"toolu_{number}", "Read", shown))
        assert context.weight == sum(context.weights.values()) <= MOST_BYTES
        assert context.weights.keys() == context.shown.sources.keys()
    chars = sum(len(line) + 1 for id in context.weights for line in context.shown.sources[id].lines)
    assert list(context.weights)[-1] == f"toolu_{count - 1}"
    assert "toolu_0" not in context.weights
    assert chars >= 500_000, "of lines as short as these"
    context.compacted()
    assert (context.weight, context.weights) == (0, {})


def test_of_a_result_that_is_out_of_sight_a_few_bytes_are_held(monkeypatch: pytest.MonkeyPatch, count: Callable[[int, int], int]):
    monkeypatch.setattr(shown_context, "MOST_BYTES", 20_000)
    context, many = Context(), count(5_000, 20_000)
    tracemalloc.start()
    try:
        for number in range(many):
            id = f"toolu_{number:024}"
            context.arrive(id)
            context.show(Source(id, f"Read of src/{number}/{number}.py", [f"{number} {line}" for line in range(9)]))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(context.numbers) == many
    assert len(context.shown.sources) < 100
    assert held <= 100 * many


def test_of_an_attachment_a_few_bytes_are_held(tmp_path: Path):
    path, count = tmp_path / f"{SESSION}.jsonl", 5_000
    attachments = Attachments(str(path))
    attached = {"type": "total_tokens_reminder"}
    with path.open("w") as file:
        for number in range(count):
            rendered = [{"role": "user", "content": f"{number} tokens are left"}]
            file.write(json.dumps({"type": "attachment", "attachment": attached, "rendered": rendered}, separators=(",", ":")) + "\n")
    attachments.look()  # loads what it needs
    again = Attachments(str(path))
    tracemalloc.start()
    try:
        again.look()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    known = again.of(f"{count - 1} tokens are left")
    assert known is not None
    assert known.type == attached["type"]
    assert again.of("tokens are left") is None
    assert held <= 50 * count


def test_of_many_subagents_the_ones_that_are_silent_let_go_first(helper: Helper):
    big = [f"{number:06} {'word ' * 30}" for number in range(40_000)]
    helper.read("main.py", lines(40))
    for agent in range(3):
        helper.read("big.py", [f"{agent} {line}" for line in big], agent=f"agent{agent}")
    assert helper.read("main.py", lines(40))[1] != "\n".join(lines(40)), "the main thread still knows what it has shown"
    assert "as in" not in helper.read("big.py", [f"0 {line}" for line in big[:40]], agent="agent0")[1]
    assert "as in" in helper.read("big.py", [f"2 {line}" for line in big[:40]], agent="agent2")[1]
    assert helper.failures() == ""


def test_of_subagents_that_come_and_go_only_the_newest_are_known(tmp_path: Path):
    environ = {"HOME": str(tmp_path), "POPKIT_HOME": str(tmp_path / "popkit")}
    door = Door(environ, SESSION, str(tmp_path / f"{SESSION}.jsonl"), str(tmp_path), lambda work, *what: None)
    for number in range(100):
        for agent in ("", f"agent{number}"):
            door.context(agent).show(Source(f"toolu_{number}", "Read", [f"{number} {line}" for line in range(20)]))
        assert len(door.contexts) <= MOST_AGENTS + 1
    assert [*door.contexts] == [*(f"agent{number}" for number in range(100 - MOST_AGENTS, 99)), "", "agent99"]
    assert len(door.contexts[""].shown.sources) == 100


@pytest.mark.parametrize("results", [MOST_NAMES // 2, 2 * MOST_NAMES])
def test_of_what_was_sent_no_more_is_held_the_longer_a_session_goes_on(tmp_path: Path, results: int):
    path = tmp_path / f"{SESSION}.jsonl"
    following, found = GrowingTranscript(str(path)), 0
    with contextlib.closing(helper_memory.Transcript(path, tmp_path)) as transcript:
        for number in range(results):
            transcript.call(f"toolu_{number}", "Read", {}, {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "x"}, 9_000)
            if number % 100 == 99 or number == results - 1:
                requests, _ = following.new()
                found += len(requests)
                assert following.held <= 4 * MOST_NAMES + 1
    assert found == results


@pytest.mark.parametrize("held", [[], [""], ["a", "", "ü", "🙂 \ud800", "x" * 100_000], ["\x00", "\r", "\udcff"]])
def test_packed_lines_are_the_lines(held: list[str]):
    packed = Lines(held)
    assert list(packed) == held
    assert [packed[at] for at in range(-len(held), len(held))] == held * 2
    assert [packed[a:b] for a in range(4) for b in range(5)] == [held[a:b] for a in range(4) for b in range(5)]
    with pytest.raises(IndexError):
        packed[len(held)]
