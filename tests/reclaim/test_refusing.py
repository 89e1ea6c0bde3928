"""Which calls are worth a closer look before they run: those that may write a line of ours into a file."""

from __future__ import annotations

import pytest

from hooks.utils.hosts.claude_code import TOOLS
from hooks.utils.reclaim.refusing import may_write_one

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
