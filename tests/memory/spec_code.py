"""The specification's own code, run beside ours where the document is there."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

DOCUMENT = Path(__file__).resolve().parents[3] / "shared" / "spec" / "bounded-memory.md"


def block_with(name: str) -> dict[str, Any]:
    """What the specification's Python block that defines a name leaves behind."""
    if not DOCUMENT.exists():
        pytest.skip("the specification is not beside the project (../shared/spec/bounded-memory.md)")
    names: dict[str, Any] = {"math": math, "datetime": datetime, "timezone": timezone}
    for each in ("List", "Dict", "Tuple", "Optional"):
        names[each] = __import__("typing").__dict__[each]
    for block in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(rf"^class {name}\b|^{name} =", block, re.MULTILINE):
            # MemoryTierManager speaks of the two others.
            for other in ("ValueClassification", "ForgettingCurveModel") if name == "MemoryTierManager" else ():
                names[other] = block_with(other)[other]
            exec(compile("from __future__ import annotations\n" + block, name, "exec", dont_inherit=True), names)  # noqa: S102
            return names
    raise LookupError(name)
