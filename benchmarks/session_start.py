"""What PopKit adds to a short session of the newest client: a prompt, a Read, an answer.

    python benchmarks/session_start.py [--times N] [--terminal]

The same session in turn without PopKit, with its hooks alone (as in a client that knows no mods) and with all of it, installed from a
marketplace, against an API on this machine that answers at once. Printed: the median seconds from the client's start to the first request,
from there to the second, which brings what was read, and from the start to the end; and the processor seconds of the client and of what it
has started. With `--terminal` a person presses Enter 3 s after the prompt has come: how long it takes to come, and from Enter on the rest.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.client import installs
from tests.client.client import ClientHome
from tests.client.kept import Kept, kept
from tests.client.marketplace import checkout, claude
from tests.client.scripted_api import ScriptedApi, call, say
from tests.client.terminal import ClientTerminal

ANSWER = "it is read"
SCRIPTS = {"read": [call(("Read", {"file_path": "{work}/README.md"})), say(ANSWER)]}
PROMPT = "go [[SCRIPT:read]]"
TYPES_S, FIRST_SESSIONS = 3.0, 4
WITHOUT, HOOKS, WHOLE = "without PopKit", "with its hooks alone", "with PopKit"


class Took(NamedTuple):
    """Seconds."""

    prompt: float
    first: float
    second: float
    end: float
    processor: float


def prepared(home: ClientHome, api: ScriptedApi, arm: str) -> None:
    """Install what an arm has in a home, and have a few sessions in it: the first ones compile the hooks."""
    if arm == WITHOUT:
        return
    files = checkout(home.root.with_name("popkit"))
    if arm == HOOKS:
        hooks = files / ".claude-plugin/popkit/hooks/hooks.json"
        config = json.loads(hooks.read_text())
        del config["modules"]
        hooks.write_text(json.dumps(config))
    claude(home, "plugin", "marketplace", "add", str(files))
    claude(home, "plugin", "install", "popkit@popkit")
    for _ in range(FIRST_SESSIONS):
        api.clear()
        api.scripts = dict(SCRIPTS)
        headless(home, api)


def session(arm: Kept, terminal: bool) -> Took:
    """Play the session in the home as it was prepared."""
    arm.as_it_was()
    arm.api.scripts = dict(SCRIPTS)
    before = _processor()
    times = in_terminal(arm.home, arm.api) if terminal else headless(arm.home, arm.api)
    return Took(*times, _processor() - before)


def headless(home: ClientHome, api: ScriptedApi) -> tuple[float, float, float, float]:
    began = time.monotonic()
    client = subprocess.Popen(
        [*home.command(), "-p", PROMPT], cwd=home.work, env=home.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    first, second = (_arrives(api, number) for number in (1, 2))
    client.wait()
    return 0.0, first - began, second - first, time.monotonic() - began


def in_terminal(home: ClientHome, api: ScriptedApi) -> tuple[float, float, float, float]:
    began = time.monotonic()
    with ClientTerminal(home) as terminal:
        terminal.wait_ready()
        ready = time.monotonic()
        time.sleep(TYPES_S)
        terminal.type(PROMPT)
        entered = time.monotonic()
        terminal.submit(PROMPT)
        first, second = (_arrives(api, number) for number in (1, 2))
        terminal.wait(ANSWER)
        answered = time.monotonic()
    return ready - began, first - entered, second - first, answered - entered


def _arrives(api: ScriptedApi, number: int) -> float:
    """Return when so many requests of the conversation have come."""
    while len(api.turns()) < number:
        time.sleep(0.002)
    return time.monotonic()


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="sessions of each kind (default: %(default)s)")
    parser.add_argument("--terminal", action="store_true", help="at a screen, in place of `claude -p`")
    words = parser.parse_args()
    installed = installs.install(installs.newest_version())
    with ExitStack() as stack:
        arms = {name: stack.enter_context(kept(installed, partial(prepared, arm=name))) for name in (WITHOUT, HOOKS, WHOLE)}
        took: dict[str, list[Took]] = {name: [] for name in arms}
        for _ in range(words.times):
            for name, arm in arms.items():
                took[name].append(session(arm, words.terminal))
    print("| | prompt | first request | second | end | processor |\n|---|---|---|---|---|---|")
    for name, those in took.items():
        print(f"| {name} |", " | ".join(f"{statistics.median(column):.2f}" for column in zip(*those)), "|")


if __name__ == "__main__":
    main()
