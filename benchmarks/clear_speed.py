"""What clearing a transcript costs, and undoing it: seconds and memory of whole processes, by the size of the transcript.

    python benchmarks/clear_speed.py [--mb 4 20 200] [--runs N] [--whole] [--transcripts FOLDER] [--json] [--check]

Start-up is the same command on a transcript of a dozen calls, run in turn with the large one; the figure is the median of the differences
pair by pair, a megabyte. Memory is the largest resident set of the process. The transcripts are generated in the mix of recorded
sessions, with a compaction every five megabytes (none with `--whole`, which no model's context holds: all results are live at once);
with a folder of transcripts the first size is made of those, one after the other in one chain. `--check` exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parent.parent
POPKIT = str(ROOT / "bin/popkit")
BOUND_S_PER_MB = 0.05
BOUND_LINES, BOUND_MB = 3, 30  # memory: so many times the longest line, and so many megabytes
COMPACTED_AFTER = 5_000_000
TINY_BYTES = 100_000
WORDS = (
    "return",
    "value",
    "config",
    "await",
    "handler",
    "request",
    "module",
    "the",
    "of",
    "index",
    "=>",
    "const",
    "self",
    "not",
    "if",
    "0x1f",
)


class Session:
    """Writes a session a line at a time, so that its size costs no memory."""

    def __init__(self, file: BinaryIO, seed: int = 7):
        self.file = file
        self.random = random.Random(seed)
        self.parent: str | None = None
        self.clock = 1_790_000_000.0
        self.calls = 0
        self.tokens = 20_000
        # Text to cut results from; names in it keep results apart.
        words = self.random.choices(WORDS, k=12_000)
        self.text = "".join(word + ("\n    " if n % 9 == 8 else " ") for n, word in enumerate(words))

    def entry(self, kind: str, **fields: object) -> None:
        self.clock += self.random.uniform(0.2, 4.0)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.clock))
        here = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        whole = {
            "parentUuid": self.parent, "isSidechain": False, "userType": "external", "cwd": "/home/dev/shop", "sessionId": "benchmark",
            "version": "2.1.100", "gitBranch": "main", "type": kind, **fields, "uuid": here, "timestamp": stamp,
        }  # fmt: skip
        self.file.write(json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self.parent = here

    def prompt(self) -> None:
        self.entry("user", message={"role": "user", "content": f"Now fix what module_{self.calls} does when the request is empty."})

    def answer(self, *content: dict) -> None:
        self.tokens += 400
        usage = {"input_tokens": 3, "cache_creation_input_tokens": 400, "cache_read_input_tokens": self.tokens, "output_tokens": 1}
        message = {"id": f"msg_{self.calls:024}", "type": "message", "role": "assistant", "model": "claude-model", "usage": usage}
        for block in content:
            self.entry("assistant", message={**message, "content": [block]}, requestId=f"req_{self.calls:024}")

    def call(self, size: int = 0) -> None:
        """A call with its result: a few of 60 KB, most of them of 0.2 to 8."""
        self.calls += 1
        n, id = self.calls, f"toolu_{self.calls:024}"
        size = size or min(60_000, int(self.random.lognormvariate(7.4, 1.3)) + 200)
        path = f"/home/dev/shop/src/module_{self.random.randrange(80)}.ts"
        tool, tool_input = self.random.choices(
            (
                ("Read", {"file_path": path}),
                ("Edit", {"file_path": path, "old_string": self.some(300), "new_string": self.some(400)}),
                ("Bash", {"command": f"npm test -- --grep {n % 50} 2>&1 | tail -40", "description": "Run the tests"}),
                ("Grep", {"pattern": f"name_{n % 40}", "path": "/home/dev/shop/src"}),
            ),
            (30, 20, 40, 10),
        )[0]
        thinking = {
            "type": "thinking",
            "thinking": self.some(600),
            "signature": "".join(self.random.choices("abcdefghABCDEFGH0123", k=400)),
        }
        self.answer(thinking, {"type": "text", "text": self.some(300)}, {"type": "tool_use", "id": id, "name": tool, "input": tool_input})
        if tool == "Bash":
            for second in range(self.random.randrange(4)):
                data = {"type": "bash_progress", "output": self.some(500), "fullOutput": self.some(900), "elapsedTimeSeconds": second}
                self.entry("progress", data=data, toolUseID=f"bash-progress-{second}", parentToolUseID=id)
        text = self.some(size)
        lines = text.split("\n")
        if tool == "Read":
            content = "".join(f"{number:6}→{line}\n" for number, line in enumerate(lines, 1))
            file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
            structure: object = {"type": "text", "file": file}
        elif tool == "Edit":
            content = f"The file {path} has been updated."
            structure = {
                "filePath": path,
                "oldString": tool_input["old_string"],
                "newString": tool_input["new_string"],
                "originalFile": text,
            }
        elif tool == "Bash":
            content = text
            structure = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        else:
            content = text
            structure = {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": len(lines)}
        self.tokens += len(content) // 4
        block = {"tool_use_id": id, "type": "tool_result", "content": content}
        self.entry("user", message={"role": "user", "content": [block]}, toolUseResult=structure, promptId=f"turn-{n // 9}")

    def some(self, size: int) -> str:
        """So many characters of something like code, with a name in it that is nowhere else."""
        at = self.random.randrange(len(self.text))
        text = self.text[at : at + size]
        while len(text) < size:
            text += self.text[: size - len(text)]
        return f"unique_{self.calls}_{at} " + text

    def compaction(self) -> None:
        self.tokens = 20_000
        before, self.parent = self.parent, None
        metadata = {"trigger": "auto", "preTokens": 160_000}
        self.entry(
            "system", subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=before, compactMetadata=metadata
        )
        self.entry("user", isCompactSummary=True, message={"role": "user", "content": "This session is continued: " + self.some(9_000)})


def generate(path: Path, size: int, whole: bool = False) -> None:
    """A transcript of about so many bytes; `whole` leaves the compactions out."""
    with path.open("wb") as file:
        session = Session(file)
        compacted = 0
        while not session.calls or file.tell() < size:
            if not whole and file.tell() - compacted > COMPACTED_AFTER and size - file.tell() > COMPACTED_AFTER // 2:
                session.compaction()
                compacted = file.tell()
            if session.calls % 9 == 0:
                session.prompt()
            # Of real sessions half have a line of 0.06 MB and one in a hundred one of 1.9: pictures, mostly.
            session.call(size=180_000 if size > 1_000_000 and session.calls % 400 == 399 else 0)
        session.answer({"type": "text", "text": "Done."})


def join(folder: Path, path: Path, size: int) -> None:
    """Real transcripts as one: their main threads in one chain, up to about so many bytes."""
    parent = None
    with path.open("wb") as out:
        for source in sorted(folder.glob("*.jsonl"), key=lambda each: -each.stat().st_size):
            if out.tell() >= size:
                break
            names: dict = {}
            with source.open("rb") as file:
                for line in file:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue
                    if not isinstance(entry, dict) or entry.get("isSidechain"):
                        continue
                    if isinstance(entry.get("uuid"), str):
                        first = not names
                        names[entry["uuid"]] = str(uuid.uuid4())
                        known = names.get(entry.get("parentUuid") or entry.get("logicalParentUuid"))
                        entry["parentUuid"] = known if known and not first else parent
                        entry["uuid"] = parent = names[entry["uuid"]]
                    entry["sessionId"] = "benchmark"
                    out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")


class Bench:
    """Two transcripts, a large and a tiny one, each with a home of its own."""

    def __init__(self, folder: Path, original: Path):
        self.original = original
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "POPKIT_HOME": str(folder / "popkit")}
        folder.mkdir()
        self.transcript = folder / "benchmark.jsonl"
        self.transcript.write_bytes(b"")

    def reset(self) -> None:
        """The transcript as it was, and nothing of ours."""
        remove(self.folder / "popkit")
        (self.folder / "popkit").mkdir(exist_ok=True)
        (self.folder / "popkit/interpreter").write_text(sys.executable + "\n")  # what the hooks leave there
        copy(self.original, self.transcript)

    def run(self, word: str, *flags: str) -> tuple:
        """(seconds, of the processor, megabytes, what it printed) of one command."""
        command = [POPKIT, "context", word, *flags, "--transcript", str(self.transcript), "--json"]
        printed = self.folder / "printed"
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        begin = time.perf_counter()
        pid = os.posix_spawn(POPKIT, command, self.env, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
        _, status, used = os.wait4(pid, 0)
        seconds = time.perf_counter() - begin
        os.close(out)
        if status:
            raise SystemExit(f"{' '.join(command)} ended with {status}: {printed.read_text()[:500]}")
        return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, json.loads(printed.read_text())


def copy(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        while data := old.read(1 << 20):
            new.write(data)


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def longest_line(path: Path) -> int:
    with path.open("rb") as file:
        return max(map(len, file))


def measure(original: Path, runs: int) -> list:
    """(what, figures) of a clear, dry and real, and of its undo."""
    seconds: dict = {}
    processor: dict = {}
    memory: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        tiny_original = Path(folder) / "tiny.jsonl"
        generate(tiny_original, TINY_BYTES)
        large, tiny = Bench(Path(folder) / "large", original), Bench(Path(folder) / "tiny", tiny_original)
        for _ in range(runs):
            large.reset()
            tiny.reset()
            for word, *flags in (("clear", "--now", "--dry-run"), ("clear", "--now"), ("undo",)):
                name = " ".join([word, *flags[1:]])
                taken, busy, most, report = large.run(word, *flags)
                start, busy_start, _, _ = tiny.run(word, *flags)
                seconds.setdefault(name, []).append(taken - start)
                processor.setdefault(name, []).append(busy - busy_start)
                memory.setdefault(name, []).append(most)
                if word == "clear" and not report["items"]:
                    raise SystemExit("nothing was cleared")
                if word == "clear" and report["cleared"]:
                    cleared = report["items"]
        same = large.transcript.stat().st_size == original.stat().st_size
    if not same:
        raise SystemExit("the undo has not put everything back")
    size = original.stat().st_size / 1e6
    line = longest_line(original) / 1e6
    return [
        {
            "what": f"{name}, {size:.0f} MB",
            "seconds": statistics.median(taken),
            "seconds_per_mb": statistics.median(taken) / size,
            "processor_seconds_per_mb": statistics.median(processor[name]) / size,
            "memory_mb": max(memory[name]),
            "memory_bound_mb": BOUND_LINES * line + BOUND_MB,
            "longest_line_mb": line,
            "results": cleared,
        }
        for name, taken in seconds.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, nargs="+", default=[4, 20, 200], help="sizes of the transcripts")
    parser.add_argument("--runs", type=int, default=5, help="counted pairs for each size")
    parser.add_argument("--whole", action="store_true", help="no compactions")
    parser.add_argument("--transcripts", type=Path, help="a folder of *.jsonl")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for mb in options.mb:
            original = Path(folder) / "original.jsonl"
            if options.transcripts:
                join(options.transcripts, original, int(mb * 1e6))
            else:
                generate(original, int(mb * 1e6), options.whole)
            rows += measure(original, options.runs)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(
            f"median of {options.runs} pairs of whole processes; bounds {BOUND_S_PER_MB} s a MB, "
            f"{BOUND_LINES} x the longest line + {BOUND_MB} MB"
        )
        for row in rows:
            print(
                f"{row['what']:26} {row['seconds_per_mb']:.4f} s a MB ({row['processor_seconds_per_mb']:.4f} of the processor; "
                f"{row['seconds']:.2f} s beyond start-up); "
                f"{row['memory_mb']:.0f} MB (bound {row['memory_bound_mb']:.0f}); {row['results']} results"
            )
    missed = [row["what"] for row in rows if row["seconds_per_mb"] > BOUND_S_PER_MB or row["memory_mb"] > row["memory_bound_mb"]]
    if missed:
        print("missed: " + "; ".join(missed), file=sys.stderr)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
