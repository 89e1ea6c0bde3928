"""The bill of the project that an operation is about."""

from __future__ import annotations

import os
import time

from popkit_retention.core.io import home
from popkit_retention.core.state import hidden_tools

from . import statement
from .chosen_digests import digests_since, models_of_user
from .paid import MONTH_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


class ProjectBill:
    """The project that an operation is about, and its bill."""

    __slots__ = ("bill", "now", "popkit_home", "project")

    def __init__(self, args: Words, environ: Mapping[str, str], since: float | None = None) -> None:
        self.now = time.time()
        self.popkit_home = home.popkit_home(environ)
        self.project = project_of(self.popkit_home, environ)
        models = models_of_user(self.popkit_home)
        since = self.now - MONTH_S if since is None else since
        used = digests_since(0.0, args, environ, self.now)
        self.bill = statement.bill_of(self.popkit_home, self.project, used, since, self.now, models)


def project_of(popkit_home: str, environ: Mapping[str, str]) -> str:
    return hidden_tools.project_of(popkit_home, os.path.realpath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()))
