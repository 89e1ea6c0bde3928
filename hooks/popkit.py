"""Start the command line, as `bin/popkit` does; it needs nothing installed."""

from __future__ import annotations

import gc
import os
import sys

if __name__ == "__main__":
    gc.disable()  # a command is over before its garbage could matter
    _ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    _SERVICES = os.path.join(_ROOT, "power-mode")
    # In the place of this folder, in which the library would be found once more, by the name that hooks know it by. A wheel has this file
    # in its package.
    sys.path[:1] = [_SERVICES if os.path.isdir(_SERVICES) else os.path.dirname(_ROOT)]
    from popkit_retention.cli.main import main
    from popkit_retention.cli.terminal import follow_locale

    follow_locale(sys.stdout, sys.stderr)
    raise SystemExit(main())
