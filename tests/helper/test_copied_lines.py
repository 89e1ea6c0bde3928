"""A line that stands for something left out of the context is never written into a file; a text about PopKit is."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.handlers import coming_calls
from tests.hooks import payloads, processes
from tests.policy.door_laws import MARK, OURS

from .asking import SESSION, Helper, Transcript, lines, numbered
from .running import Running

FILE = lines(60)


class Context:
    """A session whose context has a reference without a handle, one with it, a count and a placeholder."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        helper.read("app.py", FILE)
        changed = [*FILE[:30], "changed = True", *FILE[31:]]
        _, self.read = helper.read("app.py", changed)
        _, answer = helper.result("Bash", {"command": "make"}, "waiting for the server to come up\n" * 40)
        self.printed = answer["content"][0]["content"]
        self.transcript = transcript = Transcript(helper.transcript, helper.project)
        path = str(helper.project / "app.py")
        transcript.called("toolu_01", "Read", {"file_path": path}, numbered(FILE))
        transcript.called("toolu_02", "Read", {"file_path": path}, self.read)
        transcript.called("toolu_03", "Bash", {"command": "make"}, self.printed)
        self.plain, self.last = (line for line in self.read.split("\n") if line.startswith("["))
        self.count = self.printed.split("\n")[1]
        self.handles = {entry["id"]: entry["handle"] for entry in helper.journal()}

    def says(self, tool: str, tool_input: dict, **more: object) -> str:
        """Why a call may not run; "" where it may."""
        payload = payloads.common("PreToolUse", tool_name=tool, tool_input=tool_input, tool_use_id="toolu_99")
        payload.update({"session_id": SESSION, "transcript_path": str(self.helper.transcript), **more})
        answer = coming_calls.answer(payload, self.helper.env)
        if answer is None:
            return ""
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
        return answer["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.fixture
def context(helper: Helper) -> Context:
    return Context(helper)


def writes(text: str) -> dict[str, tuple[str, dict]]:
    """Calls of every tool that write a text."""
    return {
        "a Write": ("Write", {"file_path": "/p/a", "content": text}),
        "an Edit": ("Edit", {"file_path": "/p/a", "old_string": "b", "new_string": text}),
        "several edits": ("MultiEdit", {"file_path": "/p/a", "edits": [{"old_string": "b", "new_string": text}]}),
        "a notebook": ("NotebookEdit", {"notebook_path": "/p/a.ipynb", "new_source": text}),
        "a here-document": ("Bash", {"command": f"cat > a.py <<'EOF'\n{text}\nEOF"}),
        "echo": ("Bash", {"command": f"echo '{text}' >> a.py"}),
        "PowerShell": ("PowerShell", {"command": f"Set-Content a.py '{text}'"}),
    }


def test_each_of_our_lines_is_refused_wherever_it_is_written_with_its_meaning(context: Context):
    whole = {context.plain: "toolu_02", context.last: "toolu_02", context.count: "toolu_03"}
    meaning = {
        context.plain: "lines 2–29 of Read app.py", context.last: "lines 33–59 of Read app.py",
        context.count: "40 equal lines of Bash make",
    }  # fmt: skip
    for line, id in whole.items():
        said = line[1:-1].partition("; to see all")[0]
        expected = f"- {said}\n  This line stands for {meaning[line]}: `popkit restore {context.handles[id]}`\n"
        for name, (tool, tool_input) in writes(f"def first():\n{line}\n    pass").items():
            assert expected in context.says(tool, tool_input), name
    both = context.says("Write", {"file_path": "/p/a", "content": context.read})
    assert both.count("This line stands for") == 2


def test_a_placeholder_a_stub_and_a_list_are_refused_once_something_is_behind_them(context: Context):
    transcript = context.transcript
    transcript.called("toolu_04", "Read", {"file_path": str(context.helper.project / "other.py")}, numbered(lines(90, "other")))
    for number in range(8):
        transcript.called(f"toolu_1{number}", "Bash", {"command": f"echo {number}"}, f"said {number}")
    transcript.answered(30_000)
    context.helper.ask("/command", {"words": "clear --id T4 --now"})
    rows = Running(context.helper).compacts(own=True)["rows"]
    [placeholder] = [each["text"] for row in rows for each in row["toolResults"] if each["tool_use_id"] == "toolu_04"]
    notice = placeholder.split("\n")[0]
    handle = notice.rpartition(" ")[2][:-1]
    for stands, what in (
        (notice, "Read other.py"),
        (f"[PopKit left out Read app.py; Bash make: popkit restore {handle}]", "Read app.py; Bash make"),
        (f"[PopKit cleared content of this Write (its effect is on disk). To see it: popkit restore {handle}]", "content of this Write"),
        (f"[PopKit left out 78 of 90 lines; to see all: popkit restore {handle}; they name: x]", "78 of 90 lines of Read other.py"),
    ):
        said = context.says("Write", {"file_path": "/p/a", "content": f"import os\n  {stands}\n"})
        assert f"- {stands[1:-1]}\n  This line stands for {what}: `popkit restore {handle}`\n" in said


def test_a_text_about_popkit_may_be_written(context: Context):
    example = "\n".join(OURS)
    for name, (tool, tool_input) in writes(example).items():
        assert context.says(tool, tool_input) == "", name
    for text in (MARK + context.plain, context.plain[:-8], "[… 4 lines]", "[the line above stands 3 times in a row]"):
        assert context.says("Write", {"file_path": "/p/a", "content": text}) == ""


def test_what_a_file_has_already_may_stay_and_what_writes_nothing_may_run(context: Context):
    assert context.says("Edit", {"file_path": "/p/a", "old_string": f"{context.plain}\nb", "new_string": f"{context.plain}\nc"}) == ""
    assert context.says("Edit", {"file_path": "/p/a", "old_string": context.plain, "new_string": "the text"}) == ""
    assert context.says("Bash", {"command": f"grep -nF '{context.plain}' -r ."}) == ""
    assert context.says("Grep", {"pattern": context.plain}) == ""


def test_a_line_of_another_context_or_session_is_no_matter(context: Context):
    written = {"file_path": "/p/a", "content": context.plain}
    assert context.says("Write", written, agent_id="a1") == ""
    assert context.says("Write", written, session_id="5e551011-0000-4000-8000-000000000002") == ""
    assert context.says("Write", {**written, "content": context.last}, session_id="other", transcript_path="") == ""


def test_where_nothing_can_be_looked_up_the_call_runs(context: Context):
    (context.helper.home / "archive.sqlite").write_bytes(b"no database" * 99)
    assert context.says("Write", {"file_path": "/p/a", "content": context.read}) == ""


def test_the_registered_line_refuses(context: Context):
    payload = payloads.common("PreToolUse", tool_name="Write", tool_input={"file_path": "/p/a", "content": context.read})
    payload.update(session_id=SESSION, transcript_path=str(context.helper.transcript))
    ran = processes.run_registered(payload, context.helper.env)
    answer = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (ran.failed_open, answer["permissionDecision"]) == (True, "deny")
