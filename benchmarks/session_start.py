"""What PopKit adds to a short session of the newest client: a prompt, a Read, an answer.

    python benchmarks/session_start.py [--times N] [--terminal]

The same session in turn without PopKit, with its hooks alone (as in a client that knows no mods) and with all of it, against an API on this
machine that answers at once. Printed: the median seconds from the client's start, or with `--terminal` from Enter, to the first request,
from there to the second, which brings what was read, and to the end; and the processor seconds of the client and of what it has started.
In a terminal the client starts before anybody types, and ends when it is closed: there it is to the answer, and the start is a column.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.client import installs
from tests.client.client import ClientHome
from tests.client.plugin_copy import copied, without_mod
from tests.client.scripted_api import ScriptedApi, call, say
from tests.client.terminal import ClientTerminal

ANSWER = "it is read"
SCRIPTS = {"read": [call(("Read", {"file_path": "{work}/README.md"})), say(ANSWER)]}
PROMPT = "go [[SCRIPT:read]]"


class Took(NamedTuple):
    """Seconds."""

    start: float
    first: float
    second: float
    end: float
    processor: float


def session(plugin: Path | None, installed: installs.Installed, terminal: bool) -> Took:
    with ScriptedApi() as api, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = ClientHome(Path(folder), installed, api.url)
        api.places["work"], api.scripts = str(home.work), dict(SCRIPTS)
        before = _processor()
        times = in_terminal(home, api, plugin) if terminal else headless(home, api, plugin)
        return Took(*times, _processor() - before)


def headless(home: ClientHome, api: ScriptedApi, plugin: Path | None) -> tuple[float, float, float, float]:
    began = time.monotonic()
    client = subprocess.Popen(
        [*home.command(plugin), "-p", PROMPT], cwd=home.work, env=home.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    first, second = (_arrives(api, number) for number in (1, 2))
    client.wait()
    return 0.0, first - began, second - first, time.monotonic() - began


def in_terminal(home: ClientHome, api: ScriptedApi, plugin: Path | None) -> tuple[float, float, float, float]:
    began = time.monotonic()
    with ClientTerminal(home, plugin_dir=plugin) as terminal:
        terminal.wait_ready()
        ready = time.monotonic()
        terminal.type(PROMPT)
        entered = time.monotonic()
        terminal.submit(PROMPT)
        first, second = (_arrives(api, number) for number in (1, 2))
        terminal.wait(ANSWER)
        answered = time.monotonic()
    return ready - began, first - entered, second - first, answered - entered


def _arrives(api: ScriptedApi, number: int) -> float:
    """When so many requests of the conversation have come."""
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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        whole = copied(Path(folder, "whole", "popkit"))
        arms = {"without PopKit": None, "with its hooks alone": without_mod(Path(folder, "hooks", "popkit")), "with PopKit": whole}
        took: dict[str, list[Took]] = {name: [] for name in arms}
        for number in range(words.times + 1):
            for name, plugin in arms.items():
                one = session(plugin, installed, words.terminal)
                if number:  # the first time the plugin's modules are compiled
                    took[name].append(one)
    print("| | start | first request | second | end | processor |\n|---|---|---|---|---|---|")
    for name, those in took.items():
        print(f"| {name} |", " | ".join(f"{statistics.median(column):.2f}" for column in zip(*those)), "|")


if __name__ == "__main__":
    main()
