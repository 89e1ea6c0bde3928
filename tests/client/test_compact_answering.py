"""While a compaction is answered: a helper that does not, another plugin, the person."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from popkit_retention.core.state import sockets
from tests.patience import until

from .compacted import READ, RUN, Compacted, Worked, good, tell, toasts, words
from .plugin_copy import copied
from .probe import Probe, probe_hook
from .reclaimed import placeholders
from .terminal import ClientTerminal

# --- a helper that does not answer -----------------------------------------------------------------------------------------------

# At the worst moment: what leaves lies in the archive already.
INTERRUPTED = """
_answered = answer


def answer(*given):
    import os
    import signal

    made = _answered(*given)
    os.kill(os.getpid(), signal.{signal})
    return made
"""


@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGSTOP", marks=pytest.mark.slow)])
def test_a_helper_that_dies_or_hangs_while_answering_leaves_the_job_to_the_client(worked: Worked, tmp_path: Path, how: str):
    """Nothing is left half done."""
    world, plugin = worked.world, copied(tmp_path / "popkit")
    with (plugin / "hooks" / "utils" / "reclaim" / "in_place.py").open("a") as file:
        file.write(INTERRUPTED.format(signal=how))
    waking = threading.Thread(target=wake, args=(world,), daemon=True)
    waking.start()
    done = world.home.run_headless(["/compact", "now [[SCRIPT:talk]]"], plugin_dir=plugin, resume=worked.session_id)
    assert done.returncode == 0
    (summary,) = world.api.of_kind("summary")
    assert not placeholders(summary.tool_results())
    after = world.api.turns()[-1]
    assert "Scripted summary" in after.text
    assert not placeholders(after.tool_results())
    waking.join()
    until(lambda: not sockets.running(str(world.popkit_home)), "the helper to end")
    assert world.journal(done.session_id, "compact") == []
    assert world.journal(done.session_id, "clear") == []
    (toast,) = toasts(done)
    assert "not PopKit: its helper does not answer" in toast
    assert world.agrees(done.session_id)


def wake(world: Compacted) -> None:
    """Once the client has asked a model, lets a helper that was stopped go on."""
    until(lambda: world.api.of_kind("summary"), "the client's own compaction")
    for socket in (world.popkit_home / "run").glob("*.sock"):
        with suppress(ProcessLookupError):
            os.kill(int(socket.stem.rpartition("-")[2]), signal.SIGCONT)


# --- others at that moment -------------------------------------------------------------------------------------------------------

# The person has two seconds to type.
LATE = """
_answered = answer


def answer(*given):
    import time

    made = _answered(*given)
    open({begun!r}, "w").close()
    time.sleep(2)
    return made
"""


def test_a_hook_of_another_plugin_that_forbids_a_summary_leaves_all_as_it_was(worked: Worked, tmp_path: Path):
    world, probe = worked.world, Probe.with_hooks(tmp_path / "other", {"PreCompact": probe_hook()})
    probe.answer(PreCompact={"decision": "block", "reason": "not now, says the other plugin"})
    world.home.extra_env |= probe.env
    prompts = ["/compact keep the plan", "now [[SCRIPT:talk]]"]
    done = world.play(prompts, worked.session_id, extra=["--plugin-dir", str(probe.plugin_dir)])
    assert len(probe.payloads("PreCompact")) == 1
    assert world.api.of_kind("summary") == []
    (after,) = world.api.turns()
    assert after.tool_results() == worked.last.tool_results()
    assert good(after) == []
    assert toasts(done) == []
    assert [world.journal(done.session_id, event) for event in ("compact", "clear")] == [[], []]
    assert world.agrees(done.session_id)
    assert world.errors() == ""


def test_what_the_person_types_while_it_is_answered_is_sent_behind_it(worked: Worked, tmp_path: Path):
    world, plugin, begun = worked.world, copied(tmp_path / "popkit"), tmp_path / "begun"
    with (plugin / "hooks" / "utils" / "reclaim" / "in_place.py").open("a") as file:
        file.write(LATE.format(begun=str(begun)))
    with ClientTerminal(world.home, plugin_dir=plugin, resume=worked.session_id, rows=120) as terminal:
        terminal.wait("rested")
        terminal.wait_idle()
        terminal.ask("/compact", lambda _shown: begun.exists())
        terminal.turn("now [[SCRIPT:talk]]", "just talking")
    after = world.api.turns()[-1]
    tell("typed while it is answered", worked.last, after)
    assert world.api.of_kind("summary") == []
    assert words(after, "user") == [*words(worked.last, "user"), "now [[SCRIPT:talk]]"]
    assert set(placeholders(after.tool_results())) >= {RUN, READ}
    assert good(after) == []
    assert len(world.journal(worked.session_id, "compact")) == 1
    assert world.agrees(worked.session_id)
    assert world.errors() == ""
