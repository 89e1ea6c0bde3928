"""Where a content can be had again: only a Read whose file, or whose blob in git, gives every byte of it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core import archive
from popkit_retention.core.archive import Chain, add_records, is_kept, recover, recovery, source_of
from tests.archive.written import CHAIN, content, fill, new

pytestmark = pytest.mark.usefixtures("patience_with_git")

TEXT = "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n"
REMINDER = "\n\n<system-reminder>\nWhenever you read a file, think.\n</system-reminder>\n"
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nowhere", "PATH": os.environ["PATH"]}


def content_from(source: dict) -> str | None:
    """What a source gives now, whether it is what was archived or not."""
    contents = (recovery._made(data, source) for data in recovery._candidates(source))
    return next((content for content in contents if content is not None), None)


def shown(text: str, first: int = 1, count: int | None = None, form: str = "arrow", suffix: str = "") -> str:
    """The JSON text of a Read, as the client writes it."""
    lines = text.split("\n")[first - 1 :][:count]
    number = "{:>6}→" if form == "arrow" else "{}\t"
    return quoted("\n".join(number.format(first + at) + line for at, line in enumerate(lines)) + suffix)


def quoted(text: str) -> str:
    """JSON as the client writes it, for texts without lone surrogates."""
    return json.dumps(text, ensure_ascii=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(TEXT)
    return path


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b")


def committed(path: Path) -> None:
    git(path.parent, "init", "-q")
    git(path.parent, "add", path.name)
    git(path.parent, *AUTHOR, "commit", "-q", "-m", "all")


@pytest.mark.parametrize("form", ["arrow", "tab"])
@pytest.mark.parametrize(("first", "count"), [(1, None), (2, 3), (3, 1), (6, 1)])
@pytest.mark.parametrize("suffix", ["", REMINDER])
def test_a_read_can_be_made_again_from_its_file(file: Path, form: str, first: int, count: int | None, suffix: str) -> None:
    read = shown(TEXT, first, count, form, suffix)
    source = source_of(read, str(file))
    assert source == {
        "path": str(file), "first": first, "count": count or 6, "separator": "→" if form == "arrow" else "\t",
        "width": 6 if form == "arrow" else 0, "suffix": suffix, "git": None,
    }  # fmt: skip
    assert content_from(json.loads(json.dumps(source))) == read
    file.write_text(TEXT.replace("\n", "x\n") + "x")
    assert content_from(source) != read
    file.unlink()
    assert content_from(source) is None


def test_what_the_file_does_not_give_byte_for_byte_has_no_source(file: Path) -> None:
    read = shown(TEXT)
    for other in (
        read.replace("return", "give"),
        read[:-1] + '\\n     7→more"',
        read[:-1] + 'some words"',
        read[:-1] + '\\n\\nsome words"',
        read.replace("→", "\\u2192"),
        shown(TEXT, suffix="\n\n<system-reminder>" + "x" * 10_000),
        '"File does not exist."',
        '"<tool_use_error>no</tool_use_error>"',
        '""',
        '[{"type":"text","text":"     1→def"}]',
        "null",
        "{nonsense",
        "",
    ):
        assert source_of(other, str(file)) is None


def test_what_the_client_appends_is_told_by_its_form_up_to_a_length(file: Path) -> None:
    longest = "\n\n<system-reminder>".ljust(recovery.SUFFIX_CHARS, "x")
    assert source_of(shown(TEXT, suffix=longest), str(file))["suffix"] == longest
    assert source_of(shown(TEXT, suffix=longest + "x"), str(file)) is None
    assert source_of(shown(TEXT, suffix=REMINDER.strip()), str(file)) is None, "it begins a line of its own"


def test_a_number_has_so_many_places_at_most(file: Path) -> None:
    source = {"path": str(file), "first": 1, "count": 1, "width": 20, "separator": " ", "suffix": ""}
    assert content_from(source) == quoted("1".rjust(20) + " def add(a, b):")
    assert content_from({**source, "width": 0}) == quoted("1 def add(a, b):")
    assert content_from({**source, "width": 21}) is None


def test_a_part_of_a_line_is_not_the_line(file: Path) -> None:
    assert source_of(quoted("     1→def add(a"), str(file)) is None
    assert source_of(quoted("     1→def add(a, b):\n     2→    return"), str(file)) is None


def test_crlf_lines_a_byte_order_mark_and_utf_16_are_read_as_the_client_reads_them(file: Path) -> None:
    for data in (TEXT.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + TEXT.encode(), TEXT.encode("utf-16")):
        file.write_bytes(data)
        assert content_from(source_of(shown(TEXT), str(file))) == shown(TEXT)


@pytest.mark.parametrize("kind", ["folder", "pipe", "none", "relative", "nul", "far"])
def test_what_is_no_file_has_no_source_and_keeps_nobody_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    name = {"relative": "app.py", "nul": "/a\0b", "far": "/" + "a/" * 9_000}.get(kind, str(path))
    assert source_of(shown(TEXT), name) is None
    assert content_from({"path": name, "first": 1, "count": 1, "separator": "→", "width": 6, "suffix": "", "git": None}) is None


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=200),
    st.sampled_from(["arrow", "tab"]),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_any_text_that_has_a_source_comes_back_from_it(tmp_path_factory, text: str, form: str, first: int, count: int) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(text.encode())
    seen = text.removeprefix("\ufeff").replace("\r\n", "\n") if hasattr(text, "removeprefix") else text
    if first > seen.count("\n") + 1:
        return
    read = shown(seen, first, count, form)
    source = source_of(read, str(path))
    assert source is not None
    assert content_from(source) == read


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
        max_leaves=6,
    )
)
def test_a_source_that_is_none_gives_nothing(value: object) -> None:
    for source in (
        {"path": __file__, "first": value},
        {"path": value, "git": value},
        {"path": __file__, "count": 1, "first": 1, "width": value},
    ):
        assert content_from(source) is None


@pytest.mark.parametrize("change", [{"first": 0, "count": 0}, {"first": -1}, {"count": 4}, {"count": -1}, {"width": -1}, {"width": 10**9}])
def test_a_source_of_lines_that_are_not_there_gives_nothing(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree")
    source = {"path": str(path), "first": 1, "count": 2, "width": 6, "separator": "\t", "suffix": "."}
    assert content_from(source) == json.dumps("     1\tone\n     2\ttwo.")
    assert content_from({**source, **change}) is None


def test_a_file_that_git_has_is_had_from_git_when_it_has_changed_or_gone(file: Path) -> None:
    committed(file)
    read = shown(TEXT, suffix=REMINDER)
    source = source_of(read, str(file))
    assert source["git"] == git(file.parent, "rev-parse", "HEAD:app.py")
    file.write_text("other\n")
    assert content_from(source) == read
    file.unlink()
    assert content_from(source) == read


def test_a_file_in_a_folder_that_has_gone_is_had_from_the_repository_above(tmp_path: Path) -> None:
    path = tmp_path / "src" / "deep" / "app.py"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    source = source_of(shown(TEXT), str(path))
    path.unlink()
    path.parent.rmdir()
    path.parent.parent.rmdir()
    assert content_from(source) == shown(TEXT)


def test_what_git_does_not_have_is_had_from_disk_alone(file: Path) -> None:
    committed(file)
    file.write_text(TEXT + "# not committed\n")
    source = source_of(shown(TEXT + "# not committed\n"), str(file))
    assert source["git"] is None
    assert content_from(source) == shown(TEXT + "# not committed\n")


def test_another_repository_in_the_environment_does_not_answer(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(file)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert source_of(shown(TEXT), str(file))["git"]


def test_git_runs_nothing_that_the_repository_configures(file: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    committed(file)
    for key in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "core.fsmonitor", "core.sshCommand", "core.pager"):
        git(tmp_path, "config", key, f"touch {tmp_path}/ran; cat")
    source = source_of(shown(TEXT), str(file))
    file.unlink()
    assert content_from(source) == shown(TEXT)
    assert not (tmp_path / "ran").exists()


def _cold(db: sqlite3.Connection, path: Path) -> str:
    """A Read that is archived with its source, and has gone cold."""
    read = shown(path.read_text())
    (id,) = add_records(db, CHAIN, [new(0, content=read, source=source_of(read, str(path)))])
    add_records(db, CHAIN, [new(1)])
    assert archive.archive_record(db, id, hot_max=1, warm_max=1)["to_zone"] == "cold"
    return id


def test_a_cold_record_is_recovered_from_its_source_and_held_against_its_hash(db: sqlite3.Connection, file: Path) -> None:
    id = _cold(db, file)
    assert archive.retrieve_record(db, id)["content_available"] is False
    assert recover(db, id) == shown(TEXT)
    file.write_text(TEXT.replace("1", "7"))
    assert recover(db, id) is None, "a file with as many lines, but others"
    file.unlink()
    assert recover(db, id) is None


def test_a_wrong_blob_does_not_hide_the_file(db: sqlite3.Connection, file: Path) -> None:
    committed(file)
    id = _cold(db, file)
    (file.parent / "other").write_text(TEXT.replace("1", "7"))
    git(file.parent, "add", "other")
    blob = git(file.parent, "rev-parse", ":other")
    archive.set_source(db, id, {**archive.record(db, id).source, "git": blob})
    assert recover(db, id) == shown(TEXT)


def test_other_zones_are_recovered_from_the_archive(db: sqlite3.Connection) -> None:
    ids = fill(db, 3)
    archive.archive_chain(db, "session-1", hot_max=1, warm_max=2)
    assert [recover(db, id) for id in ids] == [None, content(1), content(2)]
    assert recover(db, "nobody") is None


def test_only_what_can_be_made_again_goes_cold(db: sqlite3.Connection, file: Path) -> None:
    chain = Chain("s", "s")
    read = shown(TEXT)
    sure, unsure = add_records(db, chain, [new(0, content=read, source=source_of(read, str(file))), new(1)])
    add_records(db, chain, [new(2)])
    archive.archive_chain(db, "s", lambda record: record.source is not None, hot_max=1, warm_max=1)
    assert [archive.record(db, id).zone for id in (sure, unsure)] == ["cold", "warm"]
    assert (recover(db, sure), recover(db, unsure)) == (read, content(1))


def _source(path: Path) -> dict:
    source = source_of(shown(path.read_text()), str(path))
    assert source is not None
    return source


def test_a_file_on_disk_is_no_proof_that_a_content_can_be_had_again(file: Path) -> None:
    assert not is_kept(_source(file), shown(TEXT))


def test_a_staged_file_is_no_proof_but_a_committed_one_is(file: Path) -> None:
    git(file.parent, "init", "-q")
    git(file.parent, "add", file.name)
    assert not is_kept(_source(file), shown(TEXT)), "the next edit and a collection of garbage take the blob away"
    committed(file)
    source = _source(file)
    assert is_kept(source, shown(TEXT))
    assert not is_kept(source, shown(TEXT + "more")), "it is held against the content"
    file.write_text("other\n")
    git(file.parent, *AUTHOR, "commit", "-qam", "an edit")
    file.unlink()
    assert is_kept(source, shown(TEXT)), "history keeps what was edited since"


@pytest.mark.parametrize("where", ["stash", "detached", "branch that goes"])
def test_a_commit_that_no_branch_or_tag_leads_to_is_no_proof(file: Path, where: str) -> None:
    folder = file.parent
    committed(file)
    file.write_text(TEXT + "# later\n")
    read = shown(TEXT + "# later\n")
    if where == "stash":
        git(folder, *AUTHOR, "stash")
        file.write_text(TEXT + "# later\n")
    else:
        git(folder, "checkout", "-q", *(["--detach"] if where == "detached" else ["-b", "other"]))
        git(folder, *AUTHOR, "commit", "-qam", "later")
    source = _source(file)
    if where == "branch that goes":
        assert is_kept(source, read)
        git(folder, "checkout", "-q", "--detach")
        git(folder, "branch", "-D", "other")
    assert source["git"], "git has it for now"
    assert not is_kept(source, read)
    git(folder, "tag", "kept", "stash@{0}" if where == "stash" else "HEAD")
    assert is_kept(source, read)


def test_the_largest_file_that_is_read_has_just_so_many_bytes(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(b"x" * recovery.FILE_BYTES)
    assert len(recovery._read(str(path)) or b"") == recovery.FILE_BYTES
    path.write_bytes(b"x" * (recovery.FILE_BYTES + 1))
    assert recovery._read(str(path)) is None


def test_bytes_that_are_no_text_are_replaced_in_either_encoding():
    assert recovery._lines(b"\xff\xfe" + "a\r\nb".encode("utf-16-le") + b"\x00\xd8") == ["a", "b\ufffd"]
    assert recovery._lines(b"a\xff\r\nb") == ["a\ufffd", "b"]
