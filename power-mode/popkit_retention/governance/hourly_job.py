"""The hourly job: collects each domain whose policy has `auto_gc`, at most once an hour.

Nobody is asked, and nothing is deleted that a placeholder in a transcript leads to. It also indexes what the archive has queued for that.

Hooks start it when a session ends (`hooks.utils.state.services`), in the child that learns where there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hooks.utils.io import files
from hooks.utils.io.home import popkit_home
from hooks.utils.io.system import now as time_of_day
from hooks.utils.state import services

from . import policy_file
from .controller import Controller
from .data_folder import Folder
from .domains import JOB
from .errors import GovernanceError
from .policies import DOMAINS, RAG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .domains.rag import RagDomain

INDEX_S = 60.0  # seconds for the index of one run: what is left waits for the next, or for a search


def collect(environ: Mapping[str, str], now: Callable[[], float] | None = None) -> dict[str, object]:
    """Collect what is due; return `domains`: the outcome of each, as `Controller.gc` tells it; `unindexed`: how many archived contents no
    search finds yet. What cannot be done keeps nothing else from it: its GovernanceError is raised at the end. `now` is asked for the time
    (seconds)."""
    now = now or (lambda: time_of_day(environ))
    ours = popkit_home(environ)
    if not services.is_collection_wanted(ours) or not services.is_collection_due(ours, now()):
        return {"domains": [], "unindexed": None}
    state = policy_file.read(Folder(ours).policies)
    files.replace_text(
        services.collection_note_path(ours), services.collection_note(now())
    )  # at once: a process that starts meanwhile leaves it to us
    outcomes: list[object] = []
    unindexed: int | None = None
    failed: GovernanceError | None = None
    with Controller(environ, JOB, None, now) as controller:
        for name in DOMAINS:
            if state.collects(name):
                try:
                    collected: list[object] = controller.gc(name, automatic=True)["domains"]  # type: ignore[assignment]  # as its answer has it
                    outcomes += collected
                except GovernanceError as error:
                    failed = error
        try:
            unindexed = cast("RagDomain", controller.domain(RAG)).index(for_s=INDEX_S)
        except GovernanceError as error:
            failed = error
    if failed is not None:
        raise failed
    return {"domains": outcomes, "unindexed": unindexed}
