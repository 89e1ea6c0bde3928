"""The command line. `bin/popkit` runs this file; it needs nothing installed."""

from __future__ import annotations

from utils.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
