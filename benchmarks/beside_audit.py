"""`popkit bill misses` beside claude-cache-audit over the same sessions of Claude Code: tokens written again that were in the cache.

    python benchmarks/beside_audit.py --transcripts FOLDER --audit PROGRAM [--json]

PROGRAM: `claude-cache-audit` (PyPI, 0.1.0). The audit leaves out what compactions cost, so that PopKit's figures here are of all causes but
the compaction. Of one request the audit leaves out less than 1,000 tokens; PopKit also less than 2 % of what was in the cache. *agreement*:
the smaller figure over the larger one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import own_sessions
from sections import table

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = "520w"
COMPACTION = "compaction"
POPKIT = "from popkit_retention.cli.main import main; raise SystemExit(main())"


def audited(folder: Path, program: Path) -> dict[str, Any]:
    """Return the audit's report of the sessions below a client's folder."""
    found: dict[str, Any] = _printed([str(program), "--json", "--all", "--config-dir", str(folder)])
    return found


def missed(folder: Path) -> dict[str, Any]:
    """Return what `popkit bill misses` prints of the sessions below a folder."""
    words = ["bill", "misses", str(folder), "--since", ALWAYS, "--jobs", "1", "--json"]
    found: dict[str, Any] = _printed([sys.executable, "-c", POPKIT, *words])
    return found


def _printed(command: list[str]) -> Any:
    path = os.pathsep.join([str(ROOT / "power-mode"), str(ROOT)])
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.defpath, "PYTHONPATH": path, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rows_of(audit: dict[str, Any], misses: dict[str, Any]) -> list[dict[str, object]]:
    """Return the figures of both as rows of a table."""
    headline, totals = audit["rebuilds"]["headline"], audit["totals"]
    expired = headline["by_cause"]["expired"]["rewritten_tokens"]
    others = [cause for cause in misses["causes"] if cause["cause"] != COMPACTION]
    pairs = {
        "requests": (totals["requests"], misses["requests"]),
        "written again in": (headline["count"], sum(cause["times"] for cause in others)),
        "tokens written again": (headline["rewritten_tokens"], sum(cause["tokens"] for cause in others)),
        "of these after a pause": (expired, _tokens(others, "pause") + _tokens(others, "early")),
    }
    return [
        {"": what, "claude-cache-audit": f"{its:,}", "popkit bill misses": f"{ours:,}", "agreement": agreement(its, ours)}
        for what, (its, ours) in pairs.items()
    ]


def _tokens(causes: list[dict[str, Any]], name: str) -> int:
    return sum(cause["tokens"] for cause in causes if cause["cause"] == name)


def agreement(one: float, other: float) -> str:
    """Return the smaller figure as a share of the larger one."""
    return f"{100 * min(one, other) / max(one, other):.1f} %" if one or other else "100.0 %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of Claude Code")
    parser.add_argument("--audit", type=Path, required=True, help="the program claude-cache-audit")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as config:
        project = Path(config, "projects", "-sessions")
        project.mkdir(parents=True)
        for number, path in enumerate(own_sessions.of_claude_code(options.transcripts)):
            (project / f"{number}.jsonl").write_bytes(path.read_bytes())
        rows = rows_of(audited(Path(config), options.audit.resolve()), missed(project))
    print(json.dumps(rows, indent=1) if options.json else table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
