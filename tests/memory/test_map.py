"""The module map of docs/memory.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAPPED = (
    *(ROOT / "power-mode/popkit_retention/memory").rglob("*.py"),
    *(ROOT / "power-mode/popkit_retention/cli").glob("*memory*.py"),
    *(ROOT / "benchmarks").glob("memory*.py"),
)


def test_every_module_of_memory_stands_in_the_map_and_every_one_in_the_map_exists():
    text = (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\w+\.py", text.partition("```")[2].partition("```")[0])) - {"memory_SECTION.py", "__init__.py"}
    told |= {f"memory_{name}.py" for name in ("kept", "recall", "cover", "spared", "speed")}
    contracts = {path.name for path in MAPPED if path.parent.name == "contracts" and path.name != "kit.py"}
    assert {path.name for path in MAPPED} - {"__init__.py"} - contracts - told == set()
    assert told - {path.name for path in MAPPED} - {path.name for path in (ROOT / "hooks").rglob("*.py")} == set()
