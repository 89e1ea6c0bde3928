"""What `popkit setup` has installed, within reach of the interpreter that runs us."""

from __future__ import annotations

import glob
import os
import sys
from typing import TYPE_CHECKING

from hooks.utils.edges.home import NoHome, popkit_home

if TYPE_CHECKING:
    from collections.abc import Mapping


def reach(environ: Mapping[str, str]) -> None:
    """Puts the packages of our virtual environment behind those that Python finds already; not those for another version of Python."""
    try:
        venv = os.path.join(popkit_home(environ), "venv")
    except NoHome:
        return
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    sys.path += [path for path in glob.glob(f"{glob.escape(venv)}/lib/{version}/site-packages") if path not in sys.path]
