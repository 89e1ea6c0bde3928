"""Several processes that use one database at once, begun together."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.paths import PYTHONPATH
from tests.patience import HANG_S

_CROWD = """
import os, sys
from popkit_retention.usage import postgres, sqlite
{imports}

postgres.PATIENCE_S = sqlite.PATIENCE_S = {patience}  # the machine may be busy
waits, begin = os.pipe()
for _ in range({many}):
    if not os.fork():
        os.close(begin)
        os.read(waits, 1)
        {does}
        os._exit(0)
os.close(begin)
sys.exit(max(os.wait()[1] for _ in range({many})) > 0)
"""


def all_do(imports: str, does: str, environ: dict[str, str], many: int = 4) -> None:
    """Have so many processes do one statement at once; an AssertionError where one of them fails or says anything."""
    program = _CROWD.format(imports=imports, does=does, many=many, patience=HANG_S)
    env = {**os.environ, **environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (0, "")


def all_open(environ: dict[str, str]) -> None:
    """Have several processes open the store at once."""
    all_do("from popkit_retention.usage.opening import open_store", "open_store(os.environ).close()", environ)
