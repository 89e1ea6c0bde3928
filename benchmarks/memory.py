"""What long-term memory keeps, finds and spares.

python benchmarks/memory.py SECTION [--json] [OPTIONS OF THE SECTION]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "power-mode"))

from sections import main

if __name__ == "__main__":
    raise SystemExit(main(__doc__, "memory", ("kept", "recall", "cover", "spared", "next", "speed")))
