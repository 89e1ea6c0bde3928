"""How much memory a helper holds after many results of one session: a real helper process, asked over its socket, read from the system.

Results as sessions have them: files of 20 to 400 lines read, changed and read again, searches, test runs, listings, in the main thread and
in subagents that come and go, and the transcript that the client writes. A turn begins every 20 results. With --compact-every the
conversation is compacted each time after so many results, as a client does when its window is full; without it never, so all that bounds
the helper is the helper. With --pane-every the pane is drawn each time after so many results. With --every it says how much it holds on the
way. --all measures the four ways one after the other, and --check fails where one of them is above the bound.

    python benchmarks/helper_memory.py --results 20000 [--compact-every 400] [--pane-every 20] [--every 2000] [--all] [--check]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SESSION = "5e551011-0000-4000-8000-0000000000aa"
MOST_MB = 60.0
TURN = 20  # results
_COMPACT_EVERY, _PANE_EVERY = 400, 20  # of all four ways, results
_WORDS = (
    "order invoice customer parse render total amount request handler session buffer index value retry limit cache route schema".split()
)


class Results:
    """Results of a session, each like what a tool gives; the same seed gives the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._files: dict[str, list[str]] = {}

    def next(self) -> tuple[str, dict[str, Any], str]:
        """(tool, input, text) of the next one."""
        kind = self._random.random()
        if kind < 0.45:
            return self._read()
        if kind < 0.6:
            lines = [f"src/{self._name()}.py:{self._random.randrange(900)}:{self._line()}" for _ in range(self._random.randrange(3, 120))]
            return "Grep", {"pattern": self._name(), "output_mode": "content"}, "\n".join(lines)
        if kind < 0.75:
            lines = [f"tests/test_{self._name()}.py::test_{self._name()} PASSED" for _ in range(self._random.randrange(5, 150))]
            return "Bash", {"command": f"pytest tests/{self._name()}"}, "\n".join([*lines, f"{len(lines)} passed in 2.1s"])
        lines = [f"-rw-r--r-- 1 jo jo {self._random.randrange(99_999):6} {self._name()}.ts" for _ in range(self._random.randrange(2, 60))]
        return "Bash", {"command": f"ls -l src/{self._name()}"}, "\n".join(lines)

    def _read(self) -> tuple[str, dict[str, Any], str]:
        if self._files and self._random.random() < 0.6:
            path = self._random.choice(list(self._files)[-200:])
            lines = self._files[path]
            lines[self._random.randrange(len(lines))] = self._line()
        else:
            path = f"/shop/src/{self._name()}_{len(self._files)}.py"
            lines = self._files[path] = [self._line() for _ in range(self._random.randrange(20, 400))]
            if len(self._files) > 400:
                del self._files[next(iter(self._files))]
        return "Read", {"file_path": path}, "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))

    def _name(self) -> str:
        return f"{self._random.choice(_WORDS)}_{self._random.randrange(10_000)}"

    def _line(self) -> str:
        return "    " + " ".join(self._random.choice(_WORDS) for _ in range(self._random.randrange(1, 7))) + f" = {self._name()}"


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("popkit")
        self.socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.socket_path)

    def ask(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        self.request("POST", path, json.dumps(asked).encode())
        answer: dict[str, Any] = json.loads(self.getresponse().read())
        return answer


class Transcript:
    """The transcript that the client writes."""

    def __init__(self, path: Path, cwd: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._cwd = str(cwd)
        self._count = 0
        self._write("user", {"role": "user", "content": "go"})

    def call(self, id: str, tool: str, tool_input: dict[str, Any], block: dict[str, Any], prompt: int) -> None:
        """Writes an answer that calls a tool, after a request of so many tokens, and the result as it entered."""
        use = {"type": "tool_use", "id": id, "name": tool, "input": tool_input}
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 900, "cache_read_input_tokens": prompt, "output_tokens": 90}
        answer = {"id": f"m{id}", "role": "assistant", "model": "claude-opus-5-5", "content": [use], "usage": usage}
        self._write("assistant", answer)
        self._write("user", {"role": "user", "content": [block]})
        self._file.flush()

    def compacted(self) -> None:
        """Writes that the conversation goes on with a summary."""
        self._write("system", {}, subtype="compact_boundary", parentUuid=None, compactMetadata={"trigger": "auto"})
        self._write("user", {"role": "user", "content": "the summary"}, isCompactSummary=True)

    def _write(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        self._count += 1
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1.79e9 + self._count))
        entry = {
            "type": kind, "uuid": f"{self._count:036}", "parentUuid": f"{self._count - 1:036}" if self._count > 1 else None,
            "isSidechain": False, "sessionId": SESSION, "cwd": self._cwd, "version": "2.1.332", "timestamp": stamp, "message": message,
        }  # fmt: skip
        self._file.write(json.dumps({**entry, **more}) + "\n")

    def close(self) -> None:
        self._file.close()


def measure(
    results: int, folder: Path, say_once: str = "any", most_agents: int = 40, every: int = 0, compact_every: int = 0, pane_every: int = 0
) -> dict[str, Any]:
    """Drives a helper through so many results; returns what it then says of itself, and `chars`, how much it was given; says on the way
    how much it holds, each `every` results."""
    home = folder / "popkit"
    home.mkdir(parents=True)
    (home / "retention-config.json").write_text(json.dumps({"retention": {"say_once": say_once}}))
    command = [sys.executable, "-S", "-E", str(ROOT / "hooks" / "popkit.py"), "serve", "--session", SESSION, "--cwd", str(folder)]
    path = folder / f"{SESSION}.jsonl"
    command += ["--transcript", str(path)]
    env = {"PATH": os.defpath, "HOME": str(folder), "POPKIT_HOME": str(home), "POPKIT_DOOR_MS": "60000"}
    made, chars = Results(7), 0
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as helper, contextlib.ExitStack() as stack:
        assert helper.stdout is not None
        try:
            transcript = stack.enter_context(contextlib.closing(Transcript(path, folder)))
            asking = stack.enter_context(contextlib.closing(_Unix(json.loads(helper.stdout.readline())["socket"])))
            for number in range(results):
                tool, tool_input, text = made.next()
                chars += len(text)
                id = f"toolu_{number:024}"
                # Every fourth result is a subagent's, and each of these has a few hundred of them at most.
                agent = f"agent{number * most_agents // results}" if number % 4 == 3 else ""
                block = {"type": "tool_result", "tool_use_id": id, "content": text}
                row = {"message": {"role": "user", "content": [block]}, "calls": {id: {"tool": tool, "input": tool_input}}}
                answer = asking.ask("/row", {**row, "agent_id": agent, "cwd": str(folder)})
                if not agent:
                    transcript.call(id, tool, tool_input, answer.get("content", [block])[0], 10_000 + 40 * number)
                if number % TURN == TURN - 1:
                    asking.ask("/rows", {"agent_id": "", "usage": {"window": 1_000_000}})
                if pane_every and number % pane_every == pane_every - 1:
                    asking.ask("/view", {"turn_ended": True, "usage": {"window": 1_000_000}, "columns": 100})
                if compact_every and number % compact_every == compact_every - 1:
                    transcript.compacted()
                    asking.ask("/compacted", {"agent_id": ""})
                if every and number % every == every - 1:
                    print(f"{number + 1:>7,} results: {asking.ask('/health', {})['rss_mb']:.0f} MB", flush=True)
            return {**asking.ask("/health", {}), "chars": chars}
        finally:
            helper.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=int, default=20_000)
    parser.add_argument("--say-once", default="any", choices=("off", "reads", "any"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--every", type=int, default=0, help="say on the way how much it holds, each time after so many results")
    parser.add_argument("--pane-every", type=int, default=0, help="draw the pane each time after so many results (default: never)")
    parser.add_argument("--compact-every", type=int, default=0, help="compact each time after so many results (default: never)")
    parser.add_argument("--all", action="store_true", help="measure four ways: as it is, compacted, with the pane, with both")
    parser.add_argument("--check", action="store_true", help="fail where a helper holds more than the bound")
    args = parser.parse_args()
    compact_every, pane_every = args.compact_every, args.pane_every
    ways = [(compact_every, pane_every)]
    if args.all:
        compact_every, pane_every = compact_every or _COMPACT_EVERY, pane_every or _PANE_EVERY
        ways = [(0, 0), (compact_every, 0), (0, pane_every), (compact_every, pane_every)]
    held = [_held(args, *way) for way in ways]
    return 1 if args.check and max(held) > MOST_MB else 0


def _held(args: argparse.Namespace, compact_every: int, pane_every: int) -> float:
    """Measures one way, prints what was found, and returns how much the helper holds (MB)."""
    if args.all and not args.json:
        compacted = f"compacted every {compact_every:,} results" if compact_every else "never compacted"
        print(f"\n{compacted}, {f'the pane drawn every {pane_every:,}' if pane_every else 'no pane'}:")
    with tempfile.TemporaryDirectory(prefix="pk") as folder:
        figures = measure(args.results, Path(folder), args.say_once, every=args.every, compact_every=compact_every, pane_every=pane_every)
    if args.json:
        print(json.dumps({**figures, "compact_every": compact_every, "pane_every": pane_every}))
    else:
        print(f"{args.results:,} results, {figures['chars'] / 1e6:.0f} million characters, {figures['rewritten']:,} entered shorter:")
        print(f"{figures['rss_mb']:.0f} MB (bound: {MOST_MB:.0f}), {figures['p50_ms']} ms a result", flush=True)
    held: float = figures["rss_mb"]
    return held


if __name__ == "__main__":
    sys.exit(main())
