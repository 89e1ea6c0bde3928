"""The hourly job, which collects each domain whose policy has `auto_gc`, at most once an hour. It asks nobody, and it deletes nothing that
a placeholder in a transcript leads to. It also indexes the contents that the archive has queued. Hooks start it when a session ends
(`popkit_retention.core.state.jobs`), in the child process that learns where there is one. `environ` says where our folder is."""

from __future__ import annotations

from typing import cast

from popkit_retention.core.io import files
from popkit_retention.core.io.home import popkit_home
from popkit_retention.core.io.system import now as time_of_day
from popkit_retention.core.state import collection

from . import policy_file
from .controller import Controller
from .data_folder import Folder
from .domains import JOB
from .errors import GovernanceError
from .policies import DOMAINS, RAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .domains.rag import RagDomain
    from .shapes import CollectionPart, JobAnswer

    Json = dict[str, object]


INDEX_S = 60.0  # seconds for the index of one run: the rest waits for the next, or for a search


def collect(environ: Mapping[str, str], now: Callable[[], float] | None = None) -> JobAnswer:
    """Collect what is due; return `domains`: the outcome of each, as `Controller.gc` returns it; `unindexed`: how many archived contents
    search cannot find yet. A domain that fails does not stop the others: its GovernanceError is raised at the end. `now` returns the time
    (seconds)."""
    now = now or (lambda: time_of_day(environ))
    home = popkit_home(environ)
    if not collection.is_collection_wanted(home) or not collection.is_collection_due(home, now()):
        return {"domains": [], "unindexed": None}
    state = policy_file.read(Folder(home).policies)
    # Noted before the work begins, so that a process that starts meanwhile leaves the collection to this one.
    files.replace_text(collection.collection_note_path(home), collection.collection_note(now()))
    outcomes: list[CollectionPart] = []
    unindexed: int | None = None
    failed: GovernanceError | None = None
    with Controller(environ, JOB, None, now) as controller:
        for name in DOMAINS:
            if state.collects(name):
                try:
                    outcomes += controller.gc(name, automatic=True)["domains"]
                except GovernanceError as error:
                    failed = error
        try:
            unindexed = cast("RagDomain", controller.domain(RAG)).index(for_s=INDEX_S)
        except GovernanceError as error:
            failed = error
    if failed is not None:
        raise failed
    return {"domains": outcomes, "unindexed": unindexed}
