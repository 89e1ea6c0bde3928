"""The command line. `bin/popkit` runs this file; it needs nothing installed."""

from __future__ import annotations

import gc
import sys

from utils.cli.main import main
from utils.cli.screen import follow_locale

if __name__ == "__main__":
    follow_locale(sys.stdout, sys.stderr)
    gc.disable()  # a command is over before its garbage could matter
    raise SystemExit(main())
