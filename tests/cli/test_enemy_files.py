"""Files that a person may have got from elsewhere, made by an enemy: refused with a reason, or passed over. Nothing else is written."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popkit_retention.core.archive.content import compress_content
from popkit_retention.memory import exchange
from popkit_retention.memory.items import BadItem
from tests.cli.remembered import Remembered, export_of
from tests.hosts import stores
from tests.hosts.rollouts import patch_of, worked
from tests.hosts.test_opencode import called
from tests.hosts.test_opencode import worked as opencode


def everything(folder: Path, but: Path) -> dict[str, bytes | None]:
    """All that lies below a folder, apart from one folder of it."""
    paths = [path for path in folder.rglob("*") if but not in (path, *path.parents)]
    return {str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None for path in paths}


def read_and_left(shop: Remembered, words: list, file: Path) -> None:
    """A command reads a file of an enemy's, and nothing is written outside our folder or sent to the terminal."""
    folder = shop.project.parent
    before = everything(folder, shop.home)
    done = shop.run(*words, str(file))
    assert "Traceback" not in done.stdout + done.stderr
    assert (done.returncode, "\x1b]0" in done.stdout + done.stderr) == (0, False), done.stderr
    assert everything(folder, shop.home) == before


# --- transcripts -----------------------------------------------------------------------------------------------------------------------


def hostile_transcript(shop: Remembered, path: Path) -> Path:
    """Lines that no client writes: ids and paths that lead elsewhere, numbers of no size, values of no type, bytes of no text."""
    base = {"sessionId": "../../../../escape", "cwd": str(shop.project), "timestamp": "2026-01-01T00:00:00Z"}
    lines: list[object] = [b"\xff\xfe\x00 no json", b"[" * 100_000, {**base, "type": "user", "uuid": "u", "message": {"content": "hi"}}]

    def call(id: object, tool: object, given: object, content: object, response: object) -> None:
        usage = {"input_tokens": 10**400, "cache_read_input_tokens": 1e308, "cache_creation_input_tokens": None, "output_tokens": "9"}
        use = {"type": "tool_use", "id": id, "name": tool, "input": given}
        message = {"role": "assistant", "id": f"m{len(lines)}", "model": "claude-opus-4-8", "content": [use], "usage": usage}
        lines.append({**base, "type": "assistant", "uuid": f"a{len(lines)}", "message": message})
        result = {"type": "tool_result", "tool_use_id": id, "content": content}
        lines.append({**base, "type": "user", "uuid": f"r{len(lines)}", "message": {"content": [result]}, "toolUseResult": response})

    for number, name in enumerate(["../../../../etc/passwd", "/\0", "\ud800", "a" * 100_000, "\x1b]0;owned\x07", "; DROP TABLE items"]):
        file = {"filePath": name, "content": "x\n" * 5_000, "numLines": 10**400, "startLine": -3, "totalLines": "x"}
        given = {"file_path": name, "offset": 10**300, "limit": -1}
        call(f"../../../escape{number}", "Read", given, "x\n" * 5_000, {"type": "text", "file": file})
    call("b", "Bash", {"command": "$(touch pwned); `touch pwned`"}, [{"type": "text", "text": {"a": 1}}, None, 7], [1, 2])
    call(["x"], {"y": 1}, "text", {"q": 1}, None)
    lines += [{**base, "type": "system", "subtype": "compact_boundary", "compactMetadata": {"preTokens": 10**400}}]
    lines += [b'{"type":"assistant","message":{"content":' + b"9" * 5_000 + b"}}", b'{"half']
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return path


@pytest.mark.parametrize(
    "words", [["try"], ["lab", "replay"], ["lab", "survey"], ["check-compaction"], ["memory", "admin", "learn"]], ids=" ".join
)
def test_a_hostile_transcript_is_read_and_nothing_is_written_elsewhere(shop: Remembered, tmp_path: Path, words: list) -> None:
    read_and_left(shop, words, hostile_transcript(shop, tmp_path / "got.jsonl"))


@pytest.mark.parametrize(
    "words", [["try"], ["lab", "replay"], ["lab"], ["bill"], ["misses"], ["check-compaction"], ["memory", "admin", "learn"]], ids=" ".join
)
def test_a_hostile_rollout_is_read_and_nothing_is_written_elsewhere(shop: Remembered, tmp_path: Path, words: list) -> None:
    rollout = worked(project=str(shop.project))
    rollout.run("$(touch pwned); \x1b]0;owned\x07", "\x1b]0;owned\x07")
    rollout.call("apply_patch", patch_of("../../../../etc/passwd", "/\0", "\ud800", "\x1b]0;owned\x07"), [None, 7, {"text": {"a": 1}}])
    usage = {"input_tokens": 10**30, "cached_input_tokens": 1e308, "output_tokens": "9"}
    rollout.line("token_usage_record", {"usage": usage})
    rollout.compact("all is well")
    path = rollout.write(tmp_path)
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n" + b"[" * 100_000)
    read_and_left(shop, words, path)


@pytest.mark.parametrize("words", [["try"], ["lab"], ["bill"], ["misses"], ["memory", "admin", "learn", "--past"]], ids=" ".join)
def test_a_hostile_database_of_opencode_is_read_and_nothing_is_written_elsewhere(shop: Remembered, tmp_path: Path, words: list) -> None:
    exports = [
        opencode(id, str(shop.project)) for id in ("ses_good", "ses_\x1b]0;owned\x07", "../../../../escape", "ses_/../../escape", "")
    ]
    for export in exports:
        export.answer(called("c9", "bash", {"command": "$(touch pwned); \x1b]0;owned\x07"}, "\x1b]0;owned\x07"), read=10**30)
        export.answer(called("../c", "edit", {"filePath": "../../../../etc/passwd"}, "\ud800"), modelID={"a": 1}, path={"cwd": "\x1b]0;"})
    path = stores.database(tmp_path / "opencode", *exports)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO session SELECT x'ff', 'p1', NULL, 7, '', x'00ff', '', '', NULL, 0, 'soon', NULL")
        db.execute("CREATE TRIGGER owned AFTER INSERT ON part BEGIN DELETE FROM session; END")
        db.execute("UPDATE part SET data = ? WHERE rowid % 7 = 3", ("[" * 50_000,))
    read_and_left(shop, words, path)


# --- imports ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        {"id": "../../x\0", "text": "a"},
        {"id": "m1", "text": "a", "project": "../../etc\0"},
        {"id": "m1", "text": "a\0b"},
        {"id": "m1", "text": "a", "writes": 10**400},
        {"id": "m1", "text": "a", "score": 10**400},
        {"id": "m1", "text": "a", "details": {"a": 1e999}},
        {"id": "m1", "text": "a", "embedding": ["1"] * 384},
        {"id": "m1", "text": "a", "marked_by": "root"},
        {"id": ["m1"], "text": "a"},
        {"id": "m1", "text": {"a": 1}},
        {"id": "m1", "text": "a", "__class__": "x"},
    ],
    ids=repr,
)
def test_a_hostile_item_is_refused_and_no_other_of_its_file_comes_in(shop: Remembered, tmp_path: Path, item: dict) -> None:
    project = shop.json("status")["project"]
    good = {"id": "good", "text": "a good one", "project": project}
    file = tmp_path / "got.jsonl"
    file.write_text(export_of([good, {"project": project, **item}]))
    before = everything(tmp_path, shop.home)
    assert "line 3" in shop.mistake("admin", "import", str(file))
    assert shop.items() == {}
    assert everything(tmp_path, shop.home) == before


def test_names_that_are_paths_or_sql_are_names(shop: Remembered, tmp_path: Path) -> None:
    project = shop.json("status")["project"]
    names = ["'; DROP TABLE items; --", '" OR 1=1', "../../../../escape", "%s%n"]
    young = {"created_at": shop.now, "last_accessed": shop.now}  # what is old is shortened
    items = [{"id": f"m{at}", "text": name, "project": project, "kind": name, "episode": name, **young} for at, name in enumerate(names)]
    items += [{"id": "other", "text": "of another", "project": "../../../../escape"}]
    before = everything(tmp_path, shop.home)
    shop.memory("admin", "import", "-", stdin=export_of(items))
    shop.memory("on")
    shop.memory("admin", "run", "--force")
    assert {item["text"] for item in shop.items().values()} == set(names)
    assert shop.json("admin", "verify")["ok"]
    assert everything(tmp_path, shop.home) == before
    assert not list(shop.home.rglob("*escape*"))


@pytest.mark.parametrize("data", [b"\xff\xfe\xfa\n", b"\0" * 5_000, b'{"popkit_memory": 1}\n\xed\xa0\x80\n', b"[" * 200_000, b"9" * 20_000])
def test_bytes_that_are_not_an_export_are_refused(shop: Remembered, data: bytes) -> None:
    assert "line" in shop.mistake("admin", "import", "-", stdin=data)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_path_that_is_not_a_regular_file_is_never_waited_for_or_read_endlessly(shop: Remembered, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "got.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    assert "not a regular file" in shop.mistake("admin", "import", str(path))


def test_an_import_is_read_up_to_a_size() -> None:
    def endless() -> object:
        yield json.dumps({"popkit_memory": 1}) + "\n"
        number = 0
        while True:
            number += 1
            yield json.dumps({"id": f"m{number}", "text": "x" * 1_000, "project": "p"}) + "\n"

    with pytest.raises(BadItem, match="more than 200,000 characters"):
        exchange.read(endless(), 2e9, most=200_000)


# --- a store that somebody else has made -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement", ["CREATE TRIGGER grab AFTER INSERT ON items BEGIN DELETE FROM log; END", 'CREATE VIEW "\'; --" AS SELECT * FROM items']
)
def test_a_store_that_holds_programs_is_not_used(shop: Remembered, statement: str) -> None:
    shop.add("run the tests with make check")
    store = shop.home / "memory.sqlite"
    with closing(sqlite3.connect(store)) as db:
        db.execute(statement)
        db.commit()
    before = store.read_bytes()
    for words in (["list"], ["add", "another"], ["admin", "run", "--force"], ["admin", "verify"]):
        assert "a trigger or view that PopKit did not make" in shop.mistake(*words)
    assert store.read_bytes() == before


def test_a_full_text_that_inflates_without_end_is_not_inflated(shop: Remembered) -> None:
    id = shop.add("run the tests with make check")
    with closing(sqlite3.connect(shop.home / "memory.sqlite")) as db:
        db.execute("INSERT INTO originals VALUES (?, '', ?)", (id, compress_content("\0" * 50_000_000)))
        db.execute("UPDATE items SET original = 1, level = 'summary'")
        db.commit()
    assert "expands to more than 4,000,000 bytes" in shop.mistake("admin", "restore", id)
    assert "expands to more than" in " ".join(shop.memory("admin", "verify", code=1).split())
