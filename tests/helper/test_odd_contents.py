"""Notebooks, images, documents, JSON and binary at the door: each enters as it came, or shorter with all of it in the archive."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from hooks.utils import archive

from .asking import Helper, numbered

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
    "many lines in 10 MB": (READ, numbered([f"value {n} = {n * 7}" for n in range(400_000)])),
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
