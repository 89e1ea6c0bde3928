"""A compaction of the client's own in its terminal, where no code of ours runs inside the client.

Where it does, everything happens in place: test_compact_terminal.py.
"""

from __future__ import annotations

from pathlib import Path

from .client import ClientHome
from .reclaimed import Reclaimed
from .scripted_api import ScriptedApi
from .terminal import ClientTerminal

ROWS = 120  # a whole test on one screen
ADVICE, INDEX = "PopKit tracked the tool results", "Tool results from before the summary are archived"


def compacted(world: Reclaimed, terminal: ClientTerminal) -> str:
    """Edit, /compact, look again; return what stood on the screen after the compaction."""
    terminal.turn("go [[SCRIPT:edit]]", "the list is edited")
    terminal.send("/compact keep the plan")
    terminal.wait(lambda _: world.api.of_kind("summary"))
    terminal.wait("ompacted")
    terminal.wait_idle(1)
    shown = terminal.text()
    terminal.turn("go [[SCRIPT:look]]", "looked again")
    return shown


def test_a_compaction_is_told_what_is_dead_and_gives_back_an_index(home: ClientHome, api: ScriptedApi, hooks_alone: Path):
    world = Reclaimed(home, api)
    with ClientTerminal(home, plugin_dir=hooks_alone, rows=ROWS) as terminal:
        terminal.wait_ready()
        shown = compacted(world, terminal)
    (summary,) = world.api.of_kind("summary")
    assert summary.text.count(ADVICE) == 1
    # A hook's output is shown and repeated; what code inside the client says is for the summariser alone.
    assert ADVICE in world.api.turns()[-1].text
    assert "PopKit tracked" in shown
    assert "keep the plan" in summary.text
    assert "src/list.js" in summary.text[summary.text.index(ADVICE) :]
    first, last = (request.text for request in (world.api.turns()[-2], world.api.turns()[-1]))
    assert INDEX in first
    assert "PASS test_number_3 " not in first
    # Its own memory of the file would let the oldest client answer that it is unchanged.
    assert "Note 62: " in last[last.index("toolu_look_0_1") :]
    assert world.errors() == ""
