"""Answer what the mod asks of one session, one method a request.

What the door knows is behind one lock, what is stored behind another; what people read waits for neither.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time

from ..hosts import is_guest, protocol
from ..io import hook_log
from ..io.system import now
from ..policy import compaction_point
from ..reclaim import auto_compaction
from ..state import data_rules, hidden_tools, jobs, prompt_breakdowns, reconciling, sweeping
from ..state.noted import SessionNotes
from ..state.site import Site
from .arriving import uses_of
from .commands import Commands
from .compactions import Compactions
from .door import Door
from .guest import Guest
from .own_code import OwnCode
from .prompt_cache import Misses
from .reported import ClientReports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..hosts.guests import ReportedResult
    from .arriving import ArrivingCall, Row
    from .compactions import CompactionRequest
    from .guest import Answer
    from .pane import Pane

    Columns = int  # as routes.py reads them
    Rows = int

_LAST_TIMES = 500  # of how many rows the median is taken, by hand: importing `statistics` takes 2 MB
_HOUR_S = 3600.0
_CALL = "compact"  # tells the mod that a compaction is to be started


class Session:
    """A session: its door, its pane and its work. `version` of the plugin, for /health."""

    def __init__(self, environ: Mapping[str, str], session_id: str, transcript_path: str, cwd: str, version: str) -> None:
        self.environ = environ
        self.version = version
        self.cwd = cwd
        self.code = OwnCode()
        site = Site(environ, session_id, cwd)
        if not is_guest(session_id):
            data_rules.forget(site.lasting_home, session_id)
            site.begin_in_memory()
        self.lock = threading.Lock()
        self.stored = threading.Lock()  # locks on files keep processes apart, not threads
        self.work: queue.Queue[tuple[Callable[..., object], tuple[Any, ...]]] = queue.Queue()
        self.door = Door(environ, session_id, transcript_path, cwd, lambda work, *what: self.work.put((work, what)))
        noted = SessionNotes(self.door.site.home, session_id)
        self.compactions = Compactions(noted, transcript_path)
        self.misses = Misses(transcript_path, now(environ))
        self.reported = ClientReports()
        self._pane: Pane | None = None
        self._opening = threading.Lock()
        later = self.door.later
        self.guest = Guest(self.door, self._site, later) if is_guest(session_id) else None
        self.times: list[float] = []
        self.rows = 0
        self.data_rules: tuple[str, ...] | None = None  # as the client said last; None before it has
        threading.Thread(target=self._work, daemon=True).start()
        threading.Thread(target=self._learn, daemon=True).start()
        threading.Thread(target=self._run_hourly, daemon=True).start()

    def _learn(self) -> None:
        """Learn what a resumed session has shown, before the first request, and what it has sent."""
        with self.lock:
            self.door.context("")
        self.work.put((self.compactions.look, ()))
        self.misses.look()
        sweeping.sweep_memory(self._site())

    def _run_hourly(self) -> None:
        """Let a child process learn from the session every hour, as at its end, and run the jobs that are due."""
        while True:
            time.sleep(_seconds(self.environ.get("POPKIT_HOURLY_S")) or _HOUR_S)
            site = self._site()
            try:
                if site.enabled and not site.data_rules:
                    jobs.start(site, self.door.transcript_path, now(self.environ))
            except Exception as error:  # noqa: BLE001  the next hour tries again
                hook_log.log_failure(self.environ, "hourly", error)

    def _work(self) -> None:
        """Do what need not be done before an answer, in order."""
        while True:
            work, what = self.work.get()
            try:
                with self.stored:
                    work(*what)
            except Exception as error:  # noqa: BLE001  fail open: the next reconcile has it
                hook_log.log_failure(self.environ, "serve", error)
            self.work.task_done()

    def settle(self) -> None:
        """Wait until all that was put off is done."""
        self.work.join()

    def end(self) -> None:
        """Do the deferred work, and end the session of a host that has no hook for that."""
        with self._settled():
            if self.guest:
                self.guest.end()

    def _settled(self) -> threading.Lock:
        """Return the lock of what is stored, once all that was put off is done: while it is held, nothing else changes that."""
        self.settle()
        return self.stored

    def note_data_rules(self, reported: object) -> None:
        """Take in which data rules the client says apply now: leave them to hooks and commands before anything is done with the request."""
        if self.guest:
            return
        rules = data_rules.reported(reported, self.environ)
        if self._is_noted(rules):
            return
        with self.lock:
            if self._is_noted(rules):
                return  # another request has said so meanwhile: what is known since stays known
            if rules or data_rules.is_asked(self.environ):
                data_rules.say(self.door.site.lasting_home, self.door.session_id, rules)
                self._site().begin_in_memory()
                self.work.put((self._follow, ()))
            self.data_rules = rules
            self.door.forget()

    def _follow(self) -> None:
        """Do what the hook on the session's start could not before the client had said which rules apply."""
        site, transcript_path = self._site(), self.door.transcript_path
        if site.enabled:
            facts = {"project": site.project, "transcript": transcript_path}
            site.remember(**{name: fact for name, fact in facts.items() if getattr(site.session, name) is None})
            reconciling.rebuild_if_small(site, site.paths(), transcript_path)

    def _is_noted(self, rules: tuple[str, ...]) -> bool:
        """Return whether hooks and commands know what the client says: a start of the session makes them forget it."""
        is_told = not (rules or data_rules.is_asked(self.environ)) or data_rules.is_said(self.door.site.lasting_home, self.door.session_id)
        return rules == self.data_rules and is_told

    def row(self, message: Row, calls: dict[str, ArrivingCall], agent_id: str, cwd: str) -> Answer:
        began = time.perf_counter()
        with self.lock:
            blocks = self.door.row(message, calls, agent_id, cwd)
            self._count_row(began)
        self.work.put((self.compactions.look, ()))
        return {} if blocks is None else {"content": blocks}

    def result(self, reported: ReportedResult) -> Answer:
        """Answer for a result of a host that hands over no rows."""
        began = time.perf_counter()
        with self.lock:
            answer = self.guest.result(reported) if self.guest else {}
            self._count_row(began)
        return answer

    def _count_row(self, began: float) -> None:
        self.rows += 1
        self.times = [*self.times[1 - _LAST_TIMES :], time.perf_counter() - began]

    def writing(self, tool: str, input: dict[str, object], agent_id: str) -> Answer:
        """Return why a call of such a host may not run (`refused`); {} where it may."""
        with self._settled():
            return self.guest.writing(tool, input, agent_id) if self.guest else {}

    def messages(
        self, messages: list[Any], all: bool, removed: list[str], model: str, usage: object, agent_id: str
    ) -> Answer:  # fmt: skip
        """Take in messages of a host that keeps no transcript which we can read."""
        if self.guest:
            self.reported.note(self._site(), usage, now(self.environ), fresh=True)
            self.guest.messages(messages, all, removed, model, agent_id)
            if removed:
                with self._settled():
                    ids = self.guest.result_ids(agent_id)
                with self.lock:
                    self.door.keep(agent_id, ids)
        return {}

    def prompt(self, model: str, usage: object, agent_id: str) -> Answer:
        """Begin a turn of such a host; return `text` for the model, where there is something to say."""
        if self.guest is None:
            return {}
        self.begin_turn(None, usage, agent_id)
        return self.guest.prompt(model, agent_id)

    def begin_turn(self, ids: list[str] | None, usage: object, agent_id: str) -> Answer:
        """Begin a turn; with the `ids` of the remaining results, where some were taken back, and the client's `usage`. `outdated` in the
        answer: another helper should take our place."""
        site = self._site()
        self.reported.note(site, usage, now(self.environ), fresh=False)
        with self.lock:
            self.door.turn()
            if ids is not None:
                self.door.keep(agent_id, ids)
        return {"outdated": True} if self.code.has_changed() else {}

    def compact(self, request: CompactionRequest, entries: object, thinking: str) -> Answer:
        """Answer a compaction. `entries`, `thinking`: of a host whose conversation goes on by edits."""
        handed = self.guest.handover(entries, thinking) if self.guest else None
        if handed is not None:
            request.rows, request.sent = handed.rows, handed.sent
        with self._settled():
            answer = self.compactions.answer(self._site(), self.door.transcript_of(request.agent_id), request, now(self.environ))
        if self.guest is None:
            calls = {**uses_of(answer.get("rows", request.rows)), **uses_of(answer.get("behind"))}
            with self.lock:
                self.door.compacting(request.agent_id, calls)
        self._call()
        return self.guest.edited(handed, answer) if self.guest else answer

    def mend(self, entries: object, thinking: str) -> Answer:
        """Return the `edits` by which the shortened results of such a host are whole again, whose references its own compaction has taken
        away."""
        handed = self.guest.handover(entries, thinking) if self.guest else None
        if self.guest is None or handed is None:
            return {}
        with self._settled():
            return self.guest.mended(handed, now(self.environ))

    def want(self, cancel: bool, only: list[str] | None, share: float | None, back: list[str]) -> Answer:
        """Note a change of the conversation that a process outside of the client asks for; the mod reads it in our output."""
        with self.stored:
            if cancel:
                return {"heard": True, "cancelled": self.compactions.cancel()}
            if only is not None:
                self.compactions.clear(only, share)
            else:
                self.compactions.put_back(back)
        self._call()
        return {"heard": True}

    def _call(self) -> None:
        """Have the mod start a compaction if one is due."""
        if self.compactions.begin():
            sys.stdout.write(_CALL + "\n")
            sys.stdout.flush()

    def compacting(self) -> Answer:
        """Return the advice for the summariser, and note, for the hook on compactions, that it was given."""
        from ..reclaim import compaction_advice  # seldom

        at, site = now(self.environ), self._site()
        if not site.enabled:
            return {}
        with self._settled():
            text = compaction_advice.before(site, self.door.transcript_path, at, manual=False)
            site.remember(advised=at)
        return {"text": text or ""}

    def compacted(self, stood: bool, agent_id: str) -> Answer:
        """Note that a compaction is done; `stood`: with our answer."""
        with self._settled():
            rest = self.compactions.confirm(stood)
        self._call()
        with self.lock:
            if self.guest and stood:
                self.door.relearn(agent_id)
            else:
                self.door.compacted(agent_id)
        if self.guest:
            self.guest.compacted(agent_id, stood)
        if rest is not None:
            self.work.put((rest, ()))  # not before: the client waits for this answer, too
        return {}

    def late(self, ids: list[str], agent_id: str) -> Answer:
        with self.lock:
            self.door.late(agent_id, ids)
        return {}

    @property
    def pane(self) -> Pane:
        """Return what people look at. It is loaded when one does: it takes a third of the helper's start, and the first result waits for
        that."""
        from .pane import Pane

        with self._opening:
            if self._pane is None:
                self._pane = Pane(self.door.transcript_path, Commands(self.environ, self.cwd), self.compactions, self.misses, self.reported)
        return self._pane

    def view(
        self, page: str, chosen: str, columns: Columns, rows: Rows, turn_ended: bool, status_site: bool, unseen: bool, usage: object
    ) -> Answer:  # fmt: skip
        """Return what the pane shows; nothing where it is `unseen`, and nothing leaves by itself."""
        self.reported.note(self._site(), usage, now(self.environ), turn_ended)
        if status_site:
            self.reported.note_status_line(self._site())
        if unseen and auto_compaction.setting(self._site()) != auto_compaction.ON:
            return {}
        from .drawing import PaneRequest

        shown = PaneRequest(page, chosen, columns, rows, turn_ended)
        with self._settled():
            return self.pane.view(self._site(), shown, now(self.environ))

    def command(self, words: str, columns: Columns) -> Answer:
        with self._settled():
            return self._reply(self.pane.answer(words, self._site(), now(self.environ), columns))

    def press(self, id: str, columns: Columns) -> Answer:
        with self._settled():
            return self._reply(self.pane.press(id, self._site(), now(self.environ), columns))

    def _reply(self, text: str) -> Answer:
        """Return an answer; with `compact` where a compaction is to be started, which does what was asked for."""
        return {"text": text, **({"compact": True} if self.compactions.begin() else {})}

    def breakdown(self, breakdown: object) -> Answer:
        """Store the client's breakdown of the window before the first word."""
        site = self._site()
        if site.data_rules:
            return {}
        at = protocol.of(site.session_id).compaction_reported(breakdown)
        with self.stored:
            if at is not None and site.session.compaction is not None:
                site.remember(compacts_at=compaction_point.noted(site.session, at))
            prompt_breakdowns.keep_breakdown(site.home, _project(self.door.cwd), self.door.session_id, breakdown, now(self.environ))
        return {}

    def hidden(self) -> Answer:
        """Return `names` of the tools that this project's sessions do without, and those that are `deferred`; one that ends in `__` means
        all that begin so."""
        site = self._site()
        names, deferred = hidden_tools.parted(hidden_tools.hidden(site.lasting_home, _project(self.door.cwd)) if site.enabled else {})
        return {"names": names, "deferred": deferred}

    def health(self) -> Answer:
        return {
            "version": self.version, "rows": self.rows, "rewritten": self.door.rewritten, "rss_mb": _rss_mb(),
            "p50_ms": round(1000 * sorted(self.times)[len(self.times) // 2], 2) if self.times else None,
        }  # fmt: skip

    def _site(self) -> Site:
        return Site(self.environ, self.door.session_id, self.door.cwd)


def _seconds(configured: str | None) -> float:
    """Return the seconds between what is done again and again, for those who test; 0 where none are given."""
    try:
        return max(0.0, float(configured or 0))
    except ValueError:
        return 0.0


def _project(cwd: str) -> str:
    return os.path.realpath(cwd) if cwd else ""


def _rss_mb() -> float | None:
    """Return the megabytes of memory in use now; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return round(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
    except (OSError, ValueError, IndexError):
        return None
