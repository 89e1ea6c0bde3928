"""The interface of governance for features that delete by hand."""

from __future__ import annotations

import os
from contextlib import contextmanager

from popkit_retention.core import text, units
from popkit_retention.core.io.system import now as time_of_day

from ..cli.answering import Refused
from . import health
from .data_folder import Folder
from .errors import GovernanceError
from .views import hold_views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@contextmanager
def logged(environ: Mapping[str, str], ids: Sequence[str], now: float, command: str) -> Iterator[None]:
    """Log which of these archived contents the block deletes. Refused where the log cannot be used."""
    from .policies import RAG
    from .workspace import Workspace

    try:
        with Workspace(environ, now=lambda: now) as workspace, workspace.manual_deletion(RAG, ids, command=command):
            yield
    except GovernanceError as error:
        raise Refused(str(error)) from None


def copies(popkit_home: str) -> list[text.Line]:
    """Return that archives may keep copies of what is deleted elsewhere, where there are any."""
    archives = Folder(popkit_home).archives
    if not (os.path.isdir(archives) and os.listdir(archives)):
        return []
    return ["Archives that you have made may keep copies. To see them:", "  popkit retention admin archives"]


def warns(environ: Mapping[str, str], parts: Mapping[str, object]) -> list[text.Line]:
    """Return the holds on data that would be deleted. `parts`: the titles of what is stored."""
    from .controller import Controller

    if health.TITLE not in parts:
        return []
    now = time_of_day(environ)
    try:
        with Controller(environ, now=lambda: now) as controller:
            holds = controller.holds()["holds"]
    except GovernanceError as error:
        return text.wrap(f"PopKit does not know what is on hold: {error}")
    if not holds:
        return []
    message = f"{units.counted(len(holds), 'hold')} in force: somebody wants this data to stay, and it would be deleted:"
    return ["", *text.wrap(message), *text.indented(hold_views.holds(holds, now, False, "popkit retention"), "  ")]
