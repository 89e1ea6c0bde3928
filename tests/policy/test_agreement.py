"""The classifier against labels that were given by hand, before it was looked at, to command lines of real sessions.

Only hashes of the lines are in the project; the sessions themselves are development data, absent elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.commandline import bash
from popkit_retention.core.policy.ruleset import Ruleset

RULES = Ruleset.from_config({}, TOOLS)

LABELS = json.loads((Path(__file__).resolve().parents[1] / "data/bash_labels.json").read_text())["labels"]
AGREEMENT = 0.97


def command_lines(folder: Path) -> set[str]:
    """Every distinct Bash command line of the sessions in a folder."""
    found = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(errors="replace").splitlines():
            if '"Bash"' not in line:
                continue
            try:
                content = json.loads(line)["message"]["content"]
            except (ValueError, KeyError, TypeError):
                continue
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") == "Bash":
                    found.add(str(block["input"].get("command") or ""))
    return found


def test_at_least_97_of_100_real_command_lines_get_the_tier_that_a_person_gave_them(transcripts: Path, record_property):
    labelled = {}
    for line in command_lines(transcripts):
        label = LABELS.get(hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16])
        if label is not None:
            labelled[line] = label["tier"]
    assert len(labelled) >= 300
    agreed = [line for line, tier in labelled.items() if bash.longest_lived(bash.actions(line, "/project"), RULES)[1] == tier]
    print(f"{len(agreed)} of {len(labelled)} command lines: {len(agreed) / len(labelled):.1%}")
    assert len(agreed) / len(labelled) >= AGREEMENT
