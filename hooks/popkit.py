"""The command line. `bin/popkit` runs this file; it needs nothing installed."""

from __future__ import annotations

import gc

from utils.cli.main import main

if __name__ == "__main__":
    gc.disable()  # a command is over before its garbage could matter
    raise SystemExit(main())
