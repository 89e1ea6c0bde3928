"""How long a compaction without a model waits for the helper, and what the helper takes: conversations of 150,000 and 980,000 tokens.

    python benchmarks/compact_latency.py [--tokens N …] [--times N]
    python benchmarks/compact_latency.py --client [--tokens N …] [--times N] [--plugin FOLDER …] [--first]

A real helper is asked over its socket with the whole conversation, as the mod does; the state is that which the hooks have left. Printed:
the median and the 95th percentile from the question to the whole answer (aimed at: 100 ms at 150,000 tokens, 300 ms at 980,000), and the
helper's memory (150 MB). Before each question the helper has a pause, as between a person's prompts: what the last answer left beside the
archive is taken in. `at once` is the first question to a helper that has just begun with the session, before it knows any outline. The
client's own part, two copies of the messages between its threads, is not in it.

With `--client` the newest client reads so much, which takes a minute or two, and the session is taken up and compacted 5 times: what the
client says of the time from the event to the answer, its own part in it. `--plugin`: folders of the plugin to be compared, in turn.
`--first`: while they compact, the client and the helper go before all other processes of the machine (Linux, as root), as if it were quiet.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from tests.client import installs
from tests.client.client import ClientHome
from tests.client.compacted import Compacted, boundaries, toasts
from tests.client.scripted_api import ScriptedApi, call, say
from tests.client.test_plugin import ROOT
from tests.helper.asking import Helper, numbered
from tests.helper.running import Running

TOKENS = (150_000, 980_000)
_RESULT_LINES = 60
_PAUSE_S = 3.0  # in which the helper knows the outlines of all results


def conversation(helper: Helper, tokens: int) -> int:
    """Writes a transcript of about so many tokens: reads, edits of every third file, commands; how many results it has."""
    size = len(numbered(_lines(0))) / 3.2
    many = round(tokens / size)
    made = helper.has_read("f0.py", _lines(0))
    for number in range(1, many):
        path = str(helper.project / f"f{number % 97}.py")
        made.called(f"toolu_{number:05}", "Read", {"file_path": path}, numbered(_lines(number)))
        if number % 3 == 0:
            edit = {"file_path": path, "old_string": f"value_{number}_1", "new_string": f"value_{number}_one"}
            made.called(f"toolu_e{number:05}", "Edit", edit, "The file has been updated.")
    made.answered(tokens)
    return many


def _lines(number: int) -> list[str]:
    return [f"    value_{number}_{line} = compute_{number % 53}({line * 7}, {number})" for line in range(_RESULT_LINES)]


def answered_ms(helper: Helper, handed: dict[str, Any]) -> float:
    """Milliseconds from the question to the whole answer. `handed`: the rows, and the messages as they are sent."""
    began = time.perf_counter()
    answer = helper.ask("/compact", {"trigger": "auto", "agent_id": "", "instructions": "", "own": False, **handed})
    assert "rows" in answer
    return 1000 * (time.perf_counter() - began)


class InClient:
    """A session of the newest client that has read so many tokens, and can be taken up and compacted as often as one likes."""

    def __init__(self, folder: Path, tokens: int, api: ScriptedApi) -> None:
        self.root, self.before = folder / "home", folder / "before"
        self.home = ClientHome(self.root, installs.install(installs.newest_version()), api.url)
        self.home.extra_env |= {"DISABLE_AUTO_COMPACT": "1", "POPKIT_DOOR_MS": "60000"}
        api.places["work"] = str(self.home.work)
        Compacted(self.home, api)
        many = round(tokens / (len(numbered(_lines(0))) / 3.2))
        for number in range(many):
            (self.home.work / f"f{number}.py").write_text("\n".join(_lines(number)))
        reads = [("Read", {"file_path": f"{{work}}/f{number}.py"}) for number in range(many)]
        api.scripts["read"] = [*(call(*reads[at : at + 10]) for at in range(0, many, 10)), say("read all")]
        self.id = self.home.run_headless(["read [[SCRIPT:read]]"], plugin_dir=ROOT).session_id
        shutil.copytree(self.root, self.before, symlinks=True)

    def compacted_ms(self, plugin: Path, first: bool) -> tuple[int, str]:
        """Milliseconds from the event to the answer, as the client says, and the line that tells of it."""
        shutil.rmtree(self.root)
        shutil.copytree(self.before, self.root, symlinks=True)
        done = self.home.run_headless(self._prompts(first), plugin_dir=plugin, resume=self.id)
        (entry,), toast = boundaries(done), toasts(done)[0]
        assert toast.startswith("Compacted without a model"), toast
        return entry["duration_ms"], toast

    def _prompts(self, first: bool) -> Iterator[str]:
        yield "hm [[SCRIPT:talk]]"
        time.sleep(_PAUSE_S)
        _go_first(first)
        yield "/compact"
        _go_first(False)
        yield "now [[SCRIPT:talk]]"


def _go_first(first: bool) -> None:
    """Let our children go before all other processes, or as all others."""
    parents = {int(each.name): _parent(each) for each in Path("/proc").iterdir() if each.name.isdigit()}
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() != pid:
            how = (os.SCHED_RR, os.sched_param(1)) if first else (os.SCHED_OTHER, os.sched_param(0))
            for thread in _threads(Path(f"/proc/{pid}/task")):
                with suppress(OSError):  # it has ended, or nobody may
                    os.sched_setscheduler(thread, *how)


def _parent(process: Path) -> int:
    with suppress(OSError):
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _threads(tasks: Path) -> list[int]:
    with suppress(OSError):
        return [int(each.name) for each in tasks.iterdir()]
    return []


def in_client(tokens: int, plugins: list[Path], times: int, first: bool) -> None:
    """Prints what the newest client says of compactions of about so many tokens, the plugins in turn."""
    took: dict[Path, list[int]] = {plugin: [] for plugin in plugins}
    with ScriptedApi() as api, tempfile.TemporaryDirectory(prefix="popkit-") as folder:
        session = InClient(Path(folder), tokens, api)
        for _ in range(times):
            for plugin in plugins:
                ms, toast = session.compacted_ms(plugin, first)
                took[plugin].append(ms)
                print(f"{tokens:,} tokens, {plugin.name}: {ms} ms. {toast}", flush=True)
    for plugin, each in took.items():
        summary = f"median {statistics.median(each):.0f} ms, p95 {p95(each):.0f} ms, {len(each)} times"
        print(f"{tokens:,} tokens in the client, {plugin.name}: {summary}")


def p95(took: list[Any]) -> float:
    """The 95th percentile; the largest of fewer than 20."""
    return sorted(took)[math.ceil(0.95 * len(took)) - 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="*", default=list(TOKENS))
    parser.add_argument("--times", type=int, help="40, with --client 5")
    parser.add_argument("--client", action="store_true")
    parser.add_argument("--plugin", type=Path, nargs="*", default=[ROOT])
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args()
    if options.client:
        for tokens in options.tokens:
            in_client(tokens, options.plugin, options.times or 5, options.first)
        return 0
    for tokens in options.tokens:
        with tempfile.TemporaryDirectory(prefix="p") as folder:
            helper = Helper(Path(folder))
            try:
                many = conversation(helper, tokens)
                helper.run("context", "--transcript", str(helper.transcript))  # as the hooks would have left the state
                handed = {"rows": Running(helper).rows(), "sent": Running(helper).sent()}
                helper.stop()
                helper.start()
                at_once = answered_ms(helper, handed)
                time.sleep(_PAUSE_S)
                took = []
                for _ in range(options.times or 40):
                    helper.ask("/view")  # waits until what was put off is done
                    took.append(answered_ms(helper, handed))
                memory = helper.ask("/health")["rss_mb"]
                print(
                    f"{tokens:,} tokens, {many:,} results, {helper.transcript.stat().st_size / 1e6:.1f} MB: "
                    f"median {statistics.median(took):.0f} ms, p95 {p95(took):.0f} ms, at once {at_once:.0f} ms, helper {memory} MB",
                    flush=True,
                )  # fmt: skip
            finally:
                helper.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
