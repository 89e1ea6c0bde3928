"""Which calls are worth a closer look before they run, and which may not: those that write a line of ours into a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popkit_retention.core import archive
from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.io import home
from popkit_retention.core.policy import own_lines
from popkit_retention.core.reclaim.refusing import may_write_one, refusal
from popkit_retention.core.state import journal, store
from popkit_retention.core.state.site import Site

LINE = "[PopKit cleared Read a.py (old). To see it: popkit restore abcd2345]"


@pytest.mark.parametrize(
    "command",
    [f"cat > a.py <<'EOF'\n{LINE}\nEOF", f"echo '{LINE}' >> a.py", f"echo '{LINE}' |tee\ta.py", f"echo '{LINE}' 2>/dev/null > a.py"],
)
def test_a_command_that_writes_it_is(command: str):
    assert may_write_one(TOOLS.of("Bash"), {"command": command})


@pytest.mark.parametrize(
    "command",
    [f"grep -nF '{LINE}' notes.md", f"grep -nF '{LINE}' notes.md 2>/dev/null", f"grep -cF '{LINE}' < notes.md", f"rg '{LINE}' . 2>&1",
     "cat > a.py <<'EOF'\nx = 1\nEOF"],
)  # fmt: skip
def test_a_command_that_only_looks_for_it_is_not(command: str):
    assert not may_write_one(TOOLS.of("Bash"), {"command": command})


def test_so_is_a_write_but_not_what_an_edit_takes_away():
    assert may_write_one(TOOLS.of("Write"), {"file_path": "/a.py", "content": LINE})
    assert may_write_one(TOOLS.of("Edit"), {"file_path": "/a.py", "old_string": "x", "new_string": LINE})
    assert not may_write_one(TOOLS.of("Edit"), {"file_path": "/a.py", "old_string": LINE, "new_string": "x"})


class Session:
    """A session of which contents are archived, and some entered shorter than they were."""

    def __init__(self, folder: Path):
        self.site = Site({"POPKIT_HOME": str(folder / "popkit")}, "s", "/p")
        self.transcript = folder / "t.jsonl"
        self.transcript.touch()
        Path(self.site.home).mkdir()

    def archived(self, label: str = "Read app.js", session_id: str = "s") -> str:
        db = archive.open_archive(home.archive_path(self.site.home))
        record = archive.NewRecord(f"toolu_{label}", "read", label, '"the text"')
        (handle,) = archive.add_records(db, archive.Chain(session_id, session_id), [record])
        db.close()
        return handle

    def entered(self, id: str, handle: str, text: str) -> None:
        """A result that entered as this text."""
        store.journal(self.site.paths(""), journal.entered(id, (), handle, 9_000, len(text), 10, ["said already"], 1.0))
        block = {"type": "tool_result", "tool_use_id": id, "content": text}
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": "user", "message": {"role": "user", "content": [block]}}) + "\n")

    def refusal(self, tool: str = "Write", **given: object) -> str:
        return refusal(self.site, TOOLS.of(tool), given, str(self.transcript))

    def of_text(self, text: str) -> str:
        return self.refusal(file_path="/p/a.js", content=text)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


BEGINS = "PopKit stopped this call before it wrote anything: it has text that PopKit put in the place of something it left out.\n"
ENDS = "Run that command to see the text itself, and write the text instead of the line."


def cleared(handle: str, label: str = "Read app.js") -> str:
    return f"[PopKit cleared {label} (old). To see it: popkit restore {handle}]"


def told(handle: str, label: str = "Read app.js") -> str:
    return f"- {cleared(handle, label)[1:-1]}\n  This line stands for {label}: `popkit restore {handle}`\n"


def test_a_placeholder_of_the_session_may_not_be_written(session: Session):
    handle = session.archived()
    line = cleared(handle)
    expected = BEGINS + told(handle) + ENDS
    assert session.of_text(f"let a;\n{line}\n{line}\n") == expected
    assert session.refusal("Edit", file_path="/p/a.js", old_string="x", new_string=line) == expected
    assert session.refusal("Bash", command=f"echo '{line}' > a.js") == expected
    assert session.refusal("Bash", command=f"grep '{line}' a.js") == session.refusal("Read", file_path=line) == ""
    assert session.refusal("Edit", file_path="/p/a.js", old_string=line, new_string=f"{line}\nmore") == "", "it is in the file already"


def test_a_line_that_refers_to_nothing_of_the_session_may_be_written(session: Session):
    assert session.of_text(cleared("abcd2345")) == "", "there is no archive"
    other = session.archived(session_id="other")
    assert session.of_text(cleared("abcd2345")) == session.of_text(cleared(other)) == session.of_text("") == ""


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, ""), (5, "So does 1 more line.\n"), (6, "So do 2 more lines.\n")])
def test_of_many_lines_the_first_are_named_and_the_rest_is_counted(session: Session, count: int, more: str):
    handles = {f"Read {number}.js": session.archived(f"Read {number}.js") for number in range(count)}
    text = "\n".join(cleared(handle, label) for label, handle in handles.items())
    named = "".join(told(handle, label) for label, handle in list(handles.items())[:4])
    assert session.of_text(text) == BEGINS + named + more + ENDS


@pytest.mark.parametrize(("chars", "is_cut"), [(240, False), (241, True)])
def test_a_long_line_is_cut(session: Session, chars: int, is_cut: bool):
    handle = session.archived()
    line = cleared(handle, "Read " + "x" * (chars - len(cleared(handle, "Read ")) + 2))
    assert len(line) == chars + 2
    shown = session.of_text(line).split("\n")[1]
    assert shown == "- " + (line[1:241] + "…" if is_cut else line[1:-1])


REFERENCE = "[lines 2–40 as in your Read of src/auth.py above: from «def check(token):» to «return token»]"


def test_a_reference_stands_for_what_entered_with_it(session: Session):
    assert session.of_text(REFERENCE) == "", "nothing has entered"
    older, newer = session.archived("Bash cat a"), session.archived("Bash cat b")
    session.entered("t1", older, f"head\n{REFERENCE}\ntail")
    assert f"  This line stands for lines 2–40 of Bash cat a: `popkit restore {older}`\n" in session.of_text(REFERENCE)
    session.entered("t2", newer, REFERENCE)
    assert f"  This line stands for lines 2–40 of Bash cat b: `popkit restore {newer}`\n" in session.of_text(REFERENCE)
    assert session.of_text(REFERENCE.replace("40", "41")) == "", "no result has that one"
    session.transcript.unlink()
    assert session.of_text(REFERENCE) == "", "nobody knows what it was"


def test_a_mark_may_be_written_only_where_no_result_got_it(session: Session):
    line = own_lines.MARK + cleared("abcd2345")
    assert session.of_text(line) == ""
    session.entered("t1", session.archived(), f"     1\tone\n     2\t{line}")
    said = session.of_text(f"one\n{line}\n").split("\n")
    assert said[0].startswith("PopKit stopped this call before it wrote anything: it has the words «part of this result's text», which")
    assert said[1:] == ["- " + cleared("abcd2345")[1:], "Write this without the words and their brackets."]
    assert session.of_text(own_lines.MARK + cleared("zzzz2345")) == ""
    for chars, is_cut in ((240, False), (241, True)):
        quoted = cleared("abcd2345", "Read " + "x" * (chars - len(cleared("abcd2345", "Read ")) + 1))
        session.entered(f"t{chars}", session.archived(), own_lines.MARK + quoted)
        shown = session.of_text(own_lines.MARK + quoted).split("\n")[1]
        assert shown == "- " + (quoted[1:241] + "…" if is_cut else quoted[1:])
    kept = own_lines.MARK + cleared("mnop2345")
    session.entered("t3", session.archived(), own_lines.MARK + kept)
    assert session.of_text(kept) == "", "the file has the mark itself: that part has it twice when it enters"
