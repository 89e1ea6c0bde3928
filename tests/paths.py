"""Where processes that tests start find the hooks' library and the services, installed or not."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONPATH = os.pathsep.join((str(ROOT), str(ROOT / "power-mode")))
