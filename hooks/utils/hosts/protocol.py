"""The protocol that every host implements.

A host gives calls, its tools, and what it says of itself. Its sessions are recorded in one form, or translated into it (recordings.py):
`transcripts` reads the events, the usage, the requests and the places of results of them all. To add a host, make a folder with a module
`host` that has what `Host` lists, and name it in `of` and `every`. Policy knows no host: it is given events, with the rows of the tools
that were called.
"""

from __future__ import annotations

from . import OPENCODE, PI, is_guest
from .claude_code import host as claude_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from ..policy.calls import Call
    from ..policy.shapes import MessageRow
    from ..policy.tools import Tools
    from .guests import ReportedResult
    from .own_memory import OwnMemory

    class Host(Protocol):
        """The functions that a host offers. Times are seconds; payloads and rows come from outside and may be anything.

        Models and prices are no host's: usage names the model, and `policy/models.py` says what it costs and how its provider caches."""

        NAME: str  # as people call it
        TOOLS: Tools  # what each of its tools does, and which fields of an input hold what

        def call_of(self, payload: dict[str, object], now: float) -> Call | None:
            """Return the completed call that a hook's payload tells of; None for another payload."""

        def output_of(self, payload: dict[str, object]) -> str:
            """Return what the command of a completed call has printed; "" for another call."""

        def run_as_ours(self, command: str) -> str:
            """Return the shell command in which `popkit …` can be no program but ours, whatever a project puts on the PATH; "" where the
            host runs none."""

        def own_memory(self, environ: Mapping[str, str], root: str) -> OwnMemory:
            """Return what the host itself remembers of the project whose checkout is at `root`; an empty memory where it keeps none."""

        def compaction_told(self, environ: Mapping[str, str], folder: str, model: str) -> dict[str, object] | None:
            """Return what a person has told the host about compactions by itself, as `policy/compaction_point.py` takes it; None where the
            host cannot be told. `folder`: of the project; `model`: id."""

        def compaction_reported(self, breakdown: object) -> int | None:
            """Return the tokens at which the host says that it compacts; 0 for never, None where it says nothing."""

    class KeptTranscript(Protocol):
        """A transcript that the helper keeps."""

        def take(self, messages: list[Any], is_all: bool = False) -> int:
            """Append what is new among these messages; return how many entries that is. `is_all`: they are all of the session."""

        def take_back(self, ids: list[str]) -> None:
            """Take back messages: the next one follows those before them."""

        def ids(self) -> list[str]:
            """Return the ids of the calls whose results are in the conversation."""

    class HostConversation(Protocol):
        """A conversation that a plugin hands over: its `rows`, and the messages as they are `sent`."""

        rows: list[MessageRow]
        sent: list[dict[str, object]]

        def edits(self, rows: Sequence[MessageRow]) -> dict[str, object]:
            """Return what the plugin does so that its host shows these rows. MessagesNotUnderstood where that cannot be."""

    class GuestHost(Host, Protocol):
        """A host without hooks of ours: its plugin hands over results and messages, and the helper keeps its transcripts."""

        def kept(self, path: str, session_id: str, cwd: str, agent_id: str) -> KeptTranscript:
            """Return the transcript of one context, at a path."""

        def path_of(self, popkit_home: str, project: str, session_id: str) -> str:
            """Return where the transcript of a session is kept."""

        def completed_call(self, reported: ReportedResult, now: float) -> Call | None:
            """Return the call of a result that the plugin reports; None where it names none."""

        def handover(self, entries: object, thinking: str) -> HostConversation:
            """Return the conversation that the plugin hands over to be compacted: its `entries`, and how the model thinks.
            MessagesNotUnderstood for anything else."""


def of(session_id: str) -> Host:
    """Return the host of a session."""
    return guest_of(session_id) if is_guest(session_id) else claude_code


def guest_of(session_id: str) -> GuestHost:
    """Return the host of a session whose transcripts the helper keeps; ValueError for any other."""
    if not is_guest(session_id):
        raise ValueError(f"the transcripts of {session_id} are its host's own")
    if session_id.startswith(PI):
        from .pi import host as pi

        return pi
    from .opencode import host

    return host


def every() -> tuple[Host, ...]:
    """Return all hosts whose sessions we accompany."""
    return of(""), of(OPENCODE), of(PI)
