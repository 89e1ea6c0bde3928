"""What is asked of a session that does not run is noted, and done in place when it is resumed, before the first request."""

from __future__ import annotations

import pytest

from .compacted import READ, RUN, Worked, boundaries, good, toasts, words
from .plugin_copy import linked
from .reclaimed import placeholders, plain, whole
from .scripted_api import Recorded
from .terminal import ClientTerminal


def clear(worked: Worked, *results: str) -> dict:
    """Ask for a clear of these results in a shell, while nobody runs."""
    ids = [id for id in worked.last.tool_results() if plain(id) in results]
    return worked.world.asked("clear", "--id", ",".join(ids), "--now", "--session", worked.session_id)


def first(worked: Worked, prompt: str | list[str] = "now [[SCRIPT:talk]]") -> Recorded:
    """The first request of the session once it is resumed: with a prompt on the command line, or with several that are streamed."""
    worked.world.api.clear()
    done = worked.world.play(prompt, worked.session_id)
    assert done.results[-1]["result"] == "just talking"
    request = worked.world.api.turns()[0]
    assert good(request) == []
    return request


def test_a_clear_is_done_before_the_first_request_and_an_undo_brings_it_back(worked: Worked):
    world, path = worked.world, worked.world.home.transcript_path(worked.session_id)
    original, before = path.read_bytes(), worked.last.tool_results()
    for name in (RUN, READ):
        asked = clear(worked, name)
        assert (asked["cleared"], asked["later"], asked["items"]) == (True, True, 1)
    assert path.read_bytes() == original

    request = first(worked)
    gone = placeholders(request.tool_results())
    assert set(gone) == {RUN, READ}
    assert words(request, "user") == [*words(worked.last, "user"), "now [[SCRIPT:talk]]"]
    assert {entry.kind for entry in world.api.requests} == {"turn"}
    assert path.read_bytes().startswith(original)
    contents = {plain(id): content for id, content in before.items()}
    for id, handle in gone.items():
        assert contents[id].strip() in world.popkit("restore", handle).stdout

    assert world.asked("undo", "--session", worked.session_id)["later"] is True
    assert placeholders(first(worked, ["now [[SCRIPT:talk]]", "so [[SCRIPT:talk]]"]).tool_results()) == {}
    assert {id: text for id, text in world.api.turns()[0].tool_results().items() if id in before} == before
    assert whole(world.home.transcript(worked.session_id))
    assert world.agrees(worked.session_id)
    assert world.errors() == ""


def test_an_undo_before_that_cancels_it(worked: Worked):
    clear(worked, RUN, READ)
    assert worked.world.asked("undo", "--session", worked.session_id) == {"restored": [], "stays_out": [], "later": False}
    assert placeholders(first(worked).tool_results()) == {}
    done = worked.world.play("now [[SCRIPT:talk]]", worked.session_id)
    assert (boundaries(done), toasts(done)) == ([], [])


# With --resume it is done in the headless client above, too.
@pytest.mark.parametrize("way", [pytest.param("--resume", marks=pytest.mark.slow), "/resume"])
def test_in_a_terminal_it_is_done_as_the_session_is_loaded(worked: Worked, way: str):
    clear(worked, RUN)
    world = worked.world
    with ClientTerminal(world.home, plugin_dir=linked(), resume=worked.session_id if way == "--resume" else None, rows=120) as terminal:
        terminal.wait_ready() if way == "/resume" else terminal.wait("rested")
        if way == "/resume":
            terminal.load(worked.session_id)
        terminal.wait("Compacted (ctrl+o")  # the row stays; PopKit's own line may be gone before the session stands there
        terminal.wait_idle()
        terminal.turn("now [[SCRIPT:talk]]", "just talking")
    assert set(placeholders(world.api.turns()[0].tool_results())) == {RUN}
    assert world.agrees(worked.session_id)
