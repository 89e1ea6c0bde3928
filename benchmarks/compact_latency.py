"""How long a compaction without a model waits for the helper, and what the helper takes: conversations of 150,000 and 980,000 tokens.

    python benchmarks/compact_latency.py [--tokens N …] [--times N] [--client]

A real helper is asked over its socket with the whole conversation, as the mod does; the state is that which the hooks have left. Printed:
the median and the 95th percentile from the question to the whole answer (aimed at: 100 ms at 150,000 tokens, 300 ms at 980,000), and the
helper's memory (150 MB). Before each question the helper has a pause, as between a person's prompts: what the last answer left beside the
archive is taken in. `at once` is the first question to a helper that has just begun with the session, before it knows any outline. The
client's own part, two copies of the messages between its threads, is not in it.

With `--client` the newest client reads so much and is compacted, which takes a minute or two: what it says of the time from the event to
the answer, its own part in it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

from tests.client import installs
from tests.client.client import ClientHome
from tests.client.compacted import Compacted, boundaries, toasts
from tests.client.scripted_api import ScriptedApi, call, say
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


def answered_ms(helper: Helper, rows: list[dict[str, Any]]) -> float:
    """Milliseconds from the question to the whole answer."""
    began = time.perf_counter()
    answer = helper.ask("/compact", {"trigger": "auto", "agent_id": "", "instructions": "", "own": False, "rows": rows})
    assert "rows" in answer
    return 1000 * (time.perf_counter() - began)


def in_client(tokens: int) -> str:
    """What the newest client says of a compaction of about so many tokens, as a line."""
    with ScriptedApi() as api, tempfile.TemporaryDirectory(prefix="popkit-") as folder:
        home = ClientHome(Path(folder, "home"), installs.install(installs.newest_version()), api.url)
        home.extra_env |= {"DISABLE_AUTO_COMPACT": "1"}
        api.places["work"] = str(home.work)
        world = Compacted(home, api)
        many = round(tokens / (len(numbered(_lines(0))) / 3.2))
        for number in range(many):
            (home.work / f"f{number}.py").write_text("\n".join(_lines(number)))
        reads = [("Read", {"file_path": f"{{work}}/f{number}.py"}) for number in range(many)]
        steps = [call(*reads[at : at + 10]) for at in range(0, many, 10)]
        api.scripts["read"] = [*steps, say("read all")]
        done = world.play(["read [[SCRIPT:read]]", "/compact", "now [[SCRIPT:talk]]"])
        (entry,) = boundaries(done)
        return f"{tokens:,} tokens, {many:,} results, in the client: {entry['duration_ms']} ms. {toasts(done)[0]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="*", default=list(TOKENS))
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--client", action="store_true")
    options = parser.parse_args()
    if options.client:
        for tokens in options.tokens:
            print(in_client(tokens), flush=True)
        return 0
    for tokens in options.tokens:
        with tempfile.TemporaryDirectory(prefix="p") as folder:
            helper = Helper(Path(folder))
            try:
                many = conversation(helper, tokens)
                helper.run("context", "--transcript", str(helper.transcript))  # as the hooks would have left the state
                rows = Running(helper).rows()
                helper.stop()
                helper.start()
                at_once = answered_ms(helper, rows)
                time.sleep(_PAUSE_S)
                took = []
                for _ in range(options.times):
                    helper.ask("/view")  # waits until what was put off is done
                    took.append(answered_ms(helper, rows))
                took.sort()
                memory = helper.ask("/health")["rss_mb"]
                p95 = took[math.ceil(0.95 * len(took)) - 1]
                print(
                    f"{tokens:,} tokens, {many:,} results, {helper.transcript.stat().st_size / 1e6:.1f} MB: "
                    f"median {statistics.median(took):.0f} ms, p95 {p95:.0f} ms, at once {at_once:.0f} ms, helper {memory} MB",
                    flush=True,
                )  # fmt: skip
            finally:
                helper.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
