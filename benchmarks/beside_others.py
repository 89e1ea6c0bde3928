"""PopKit's door beside the tools of others that shorten tool results, each at its shipped default, over the same recorded sessions.

    python benchmarks/beside_others.py --transcripts FOLDER [--sessions N] [--seed N] [--only NAME ...] [--rivals FOLDER] [--json]

Each tool is asked about every result as its host would ask it (other_tools.py), and `changed` and `kept out` are shares of the results and
of their characters. *Lost*: names that an answer within 20 requests writes and only that result had shown, and that the text in its place
does not have (shown_results.py). *Starts*: processor time of the hook of one call over that of a bare Python, the median over pairs; a tool
over MCP has a server, whose processor time a result is given in its place. PopKit's hook is what runs at every call; a resident helper
decides what enters, whose time `benchmarks/door.py` measures. A tool that changes transcripts or messages is asked in the middle of each
session: its figures are of the first half, and what the next 20 requests need of it. Sessions are Claude Code's, for the others have no
hooks' input.

The tools are installed in `.cache/rivals`, and only when --install says so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import hook_latency
import own_sessions
from other_tools import TOOLS, CannotRun, Change, Tool, Trimtok, environment, payload, spent
from sections import table
from shown_results import AHEAD, Recording, Shown, read, through_door

ROOT = Path(__file__).resolve().parent.parent
DOORS = {"PopKit, default": "any+safe", "PopKit, strong": "any+strong"}


@dataclass
class Tally:
    """Sums over the results of all sessions."""

    results: int = 0
    changed: int = 0
    chars: int = 0
    kept_out: int = 0
    needs: int = 0
    lost: int = 0

    def add(self, results: list[Shown], changes: Mapping[str, Change], middle: int | None = None) -> None:
        """Add a session's results. `middle`: of those up to this request, and needs of the AHEAD requests behind it."""
        for shown in results:
            if middle is not None and shown.born > middle:
                continue
            change = changes.get(shown.id)
            needed = [name for name, request in shown.needs if middle is None or middle < request <= middle + AHEAD]
            self.results += 1
            self.chars += len(shown.text)
            self.needs += len(needed)
            if change:
                self.changed += 1
                self.kept_out += change.replaces - len(change.text)
                self.lost += sum(name not in change.text for name in needed)

    def row(self, tool: str, asked: str, starts: str) -> dict[str, object]:
        """Return the tally as a row of the table."""
        changed = f"{self.changed:,} of {self.results:,}"
        return {
            "tool": tool, "asked": asked, "kept out": percent(self.kept_out, self.chars), "changed": changed,
            "needs lost": f"{self.lost:,} of {self.needs:,}", "starts": starts,
        }  # fmt: skip


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def sampled(paths: list[Path], count: int, seed: int) -> list[Path]:
    """Return some of the sessions, the same ones for the same seed."""
    return sorted(random.Random(seed).sample(paths, min(count, len(paths))))


def starts_of(hook: Callable[[str], list[str]], calls: list[Shown], extra: dict[str, str]) -> float:
    """Return the processor time of a hook over that of a bare Python, the median of pairs."""
    with tempfile.TemporaryDirectory() as home:
        bare = bare_start(home)
        path = os.pathsep.join([str(Path(bare[0]).parent), os.defpath])  # a shim in front of Python would be counted with it
        env = {**environment(home), "PATH": path, **{name: value.format(home=home) for name, value in extra.items()}}
        spent(bare, "", env)
        ratios = [spent(hook(shown.tool), json.dumps(payload(shown)), env)[0] / spent(bare, "", env)[0] for shown in calls]
    return statistics.median(ratios)


def bare_start(home: str) -> list[str]:
    """Return the command of a bare Python."""
    return [hook_latency.Bench(Path(home)).python, "-S", "-E", "-c", "pass"]


def popkit_row(label: str, recordings: list[Recording], starts: float) -> dict[str, object]:
    """Return the row of one of PopKit's doors. `starts`: of the hook, which is the same for all doors."""
    tally = Tally()
    for recording in recordings:
        lengths = {shown.id: len(shown.text) for shown in recording.results}
        entered = through_door(recording.path, DOORS[label])
        tally.add(recording.results, {id: Change(text, lengths[id]) for id, text in entered.items()})
    return tally.row(label, f"its door, {DOORS[label]}", f"{starts:.1f}")


def row_of(tool: Tool, recordings: list[Recording], calls: list[Shown], install: bool) -> dict[str, object]:
    """Return the row of a tool of others; of one that cannot be run with the reason."""
    tally = Tally()
    label = f"{tool.name} {tool.version}"
    if not install and not tool.is_there():
        return tally.row(label, "not run: not installed (--install)", "-")
    try:
        tool.install()
        for recording in recordings:
            tally.add(recording.results, tool.changes(recording), recording.middle if tool.in_the_middle else None)
    except CannotRun as error:
        return Tally().row(label, f"not run: {error}", "-")
    return tally.row(label, tool.asked, _starts(tool, calls))


def _starts(tool: Tool, calls: list[Shown]) -> str:
    if isinstance(tool, Trimtok):
        with tempfile.TemporaryDirectory() as home:
            seconds = statistics.median(spent(bare_start(home), "", environment(home))[0] for _ in calls)
        return f"{tool.spent_s / tool.calls / seconds:.1f} (a server)"
    return f"{starts_of(tool.hook, calls, {}):.1f}" if tool.hook("Bash") else "-"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*DOORS, *(tool.name for tool in TOOLS)]
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of Claude Code")
    parser.add_argument("--sessions", type=int, default=18, help="how many of them (default: 18)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=15, help="calls over which a hook's time is a median (default: 15)")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--rivals", type=Path, default=ROOT / ".cache" / "rivals", help="where they are installed")
    parser.add_argument("--install", action="store_true", help="install what is not there, from PyPI, crates.io and npm")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    recordings = [read(path) for path in sampled(own_sessions.of_claude_code(options.transcripts), options.sessions, options.seed)]
    shells = [shown for recording in recordings for shown in recording.results if shown.tool == "Bash" and isinstance(shown.response, dict)]
    calls = random.Random(options.seed).sample(shells, min(options.calls, len(shells)))
    extra = {"POPKIT_HOME": "{home}/popkit", "CLAUDE_PLUGIN_ROOT": str(ROOT)}
    own = starts_of(lambda _tool: ["/bin/sh", "-c", hook_latency.COMMAND], calls, extra)
    rows = []
    for name in options.only:
        print(name, file=sys.stderr, flush=True)
        if name in DOORS:
            rows.append(popkit_row(name, recordings, own))
        else:
            tool = next(tool for tool in TOOLS if tool.name == name)
            rows.append(row_of(tool(options.rivals.resolve()), recordings, calls, options.install))
    print(json.dumps(rows, indent=1, ensure_ascii=False) if options.json else table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
