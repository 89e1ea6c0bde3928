"""Each cause of a lost cache happens in the real client: what it sends, and what the provider's cache makes of that, is a loss, and what it
has written down tells why.

The cache of the API forgets at a word what it would forget with time. A pause nobody waits for: what has been written is made older. The
newest client notes what it sends, so there nothing that leaves the request as it was is taken for a cause; the oldest notes nothing.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core.hosts.transcripts import sent
from popkit_retention.core.policy import lost_cache
from popkit_retention.core.policy.lost_cache import (
    CLEARED,
    COMMAND,
    COMPACTION,
    DATE,
    EARLY,
    EFFORT,
    ERROR,
    INTERRUPTION,
    LOOK_BACK,
    MESSAGES,
    MODEL,
    PAUSE,
    REWIND,
    SYSTEM,
    THINKING,
    TOOLS,
    UNKNOWN,
)  # fmt: skip
from popkit_retention.core.state import shipped

from . import installs
from .client import ClientHome
from .kept import Kept, kept
from .prompt_cache import CachingApi
from .scripted_api import SUMMARY, call, say, thought
from .terminal import ClientTerminal
from .test_harness import JOB, MCP_SERVER
from .test_provider_clears import asking_to_clear

OTHER, DROPS_THINKING = "claude-opus-4-6", "claude-sonnet-4-5-20250929"
STAMP = re.compile(r'(?<="timestamp":")[^"Z]+(?=Z")')
LONG = "".join(f"line {number} of a file that is read once\n" for number in range(1_500))
INTERRUPTED = "[Request interrupted by user"
ON = "go [[SCRIPT:on]]"
MANY_PARTS = [{"type": "text", "text": f"part {number} " * 40} for number in range(25)] + [{"type": "text", "text": ON}]
SCRIPTS = {
    "first": [call(("Read", {"file_path": "{work}/long.txt"})), say("read")],
    "on": [say("on it goes")],
    "stop": [call(("Bash", {"command": "kill -INT $PPID; sleep 60"})), say("not reached")],
    "thinks": [call(("Read", {"file_path": "{work}/long.txt", "offset": 2}), thinking=(thought("hm"),)), say("thought about")],
    "reads": [
        call(("Read", {"file_path": "{work}/long.txt", "offset": 3})),
        call(("Read", {"file_path": "{work}/README.md"})),
        say("read"),
    ],
    "asks": [call(("Agent", JOB)), say("asked")],
    "job": [call(("Bash", {"command": "true"})), say("the job is done")],
}


class Session:
    """A session that goes on from process to process. What `go` returns: (cause, detail) of what its requests lost."""

    def __init__(self, home: ClientHome, api: CachingApi, **env: str) -> None:
        self.api = api
        self.home = home
        self.home.extra_env.update(env)
        self.today = 0.0  # when it began; what was before is yesterday
        api.places["work"] = str(self.home.work)
        api.scripts.update(SCRIPTS)
        (self.home.work / "long.txt").write_text(LONG)
        self.id = ""
        assert self.go("go [[SCRIPT:first]]") == []
        self._cache = copy.deepcopy(api.cache)

    def as_it_began(self) -> Session:
        """The cache as it was after the first prompt, in an API that says nothing of its own."""
        self.today = 0.0
        self.api.cache = copy.deepcopy(self._cache)
        self.api.failing, self.api.summary = [], SUMMARY
        self.api.says = self.api.forgets_at = ""
        return self

    @property
    def transcript(self) -> Path:
        return self.home.transcript_path(self.id)

    def go(self, *prompts: Any, **how: Any) -> list[tuple[str, str]]:
        """Play prompts in one process. What is called instead of a prompt happens before the next one."""
        before = len(self.losses()) if self.id else 0
        run = self.home.run_headless(self._prompts(prompts or [ON]), resume=self.id or None, **how)
        assert run.returncode == 0, run.stderr
        self.id = run.session_id
        return self.losses()[before:]

    def _prompts(self, prompts: Iterable[Any]) -> Iterator[Any]:
        for prompt in prompts:
            if callable(prompt):
                prompt()
            else:
                yield prompt

    def forget(self) -> None:
        """Lose the cache."""
        self.api.cache.forget()

    def fail_once(self) -> None:
        """Lose the cache, and fail the next request."""
        self.forget()
        self.api.failing = [529]

    def explains(self, reason: str) -> None:
        """Have the API name this reason of a miss, or none."""
        self.api.says = reason

    def moves_to(self, zone: str) -> None:
        """Begin a new day, in this time zone."""
        self.today = time.time()
        self.home.extra_env["TZ"] = zone

    def losses(self) -> list[tuple[str, str]]:
        return losses_of(self.transcript, lambda at: at < self.today)

    def rewrite(self, change: Callable[[str], str]) -> None:
        self.transcript.write_text(change(self.transcript.read_text()))


def _six_minutes_before(at: re.Match[str]) -> str:
    return (datetime.fromisoformat(at[0]) - timedelta(minutes=6)).isoformat("T", "milliseconds")


def losses_of(transcript: Path, day_of: Callable[[float], object] = lambda _: 0) -> list[tuple[str, str]]:
    requests = sent.read(str(transcript), transcript.stat().st_size).requests
    return [(loss.cause, loss.detail) for loss in lost_cache.losses(requests, day_of, shipped.models())]


def begin(home: ClientHome, api: CachingApi) -> Session:
    return Session(home, api, ENABLE_TOOL_SEARCH="false", TZ="Pacific/Kiritimati")


@pytest.fixture(scope="module")
def begun(clients: dict[str, installs.Installed]) -> Iterator[Kept]:
    with kept(clients["newest"], begin, CachingApi) as session:
        yield session


@pytest.fixture
def newest(begun: Kept) -> Session:
    """As it was after the first prompt."""
    return begun.as_it_was().as_it_began()


@pytest.fixture
def oldest(clients: dict[str, installs.Installed], tmp_path: Path) -> Iterator[Session]:
    with CachingApi() as api:
        yield Session(ClientHome(tmp_path, clients["oldest"], api.url), api, TZ="Pacific/Kiritimati")


def test_what_the_newest_client_sends_otherwise_is_the_cause(newest: Session):
    assert newest.go(mcp_server=MCP_SERVER) == [(TOOLS, "demo")]
    # A session that is taken up again with the tools that were cached before finds its cache.
    assert newest.go(ON, MANY_PARTS) == [(LOOK_BACK, "")]
    assert newest.go(extra=("--effort", "low")) == [(EFFORT, "medium to low")]
    assert newest.go(extra=("--model", OTHER)) == [(MODEL, f"claude-opus-5-5 to {OTHER}")]
    assert newest.go() == [], "each model has a cache of its own"
    newest.rewrite(lambda text: text.replace("line 17 of a file", "line 18 of a file"))
    newest.api.summary = "It went well. " * 1_000
    [(cause, detail), compaction] = newest.go(ON, "/compact", ON)
    assert (cause, detail.partition(" of ")[0]) == (MESSAGES, "from message 3")
    assert compaction == (COMPACTION, "")


def test_in_the_newest_client_what_leaves_the_request_as_it_was_is_not_the_cause(newest: Session):
    newest.moves_to("Etc/GMT+12")
    assert newest.go() == [], "that the day has changed is said at the end of the conversation"
    newest.moves_to("Pacific/Kiritimati")
    assert newest.go(newest.forget, ON, newest.forget, "/context", ON) == [(EARLY, "")] * 2
    for _ in range(3):  # on a busy machine an interrupted client may end before it has written that down
        newest.home.run_headless("go [[SCRIPT:stop]]", resume=newest.id)
        if INTERRUPTED in newest.transcript.read_text():
            break
    assert INTERRUPTED in newest.transcript.read_text()
    assert newest.go(newest.forget, ON) == [(EARLY, "")]


def test_what_the_client_does_while_the_cache_is_lost_is_the_cause(newest: Session):
    answer = next(entry["uuid"] for entry in newest.home.transcript(newest.id) if entry["type"] == "assistant")
    lost = newest.go(newest.forget, ON, newest.fail_once, ON, extra=("--resume-session-at", answer))
    assert lost == [(REWIND, ""), (ERROR, "")]
    newest.rewrite(lambda text: STAMP.sub(_six_minutes_before, text))
    assert newest.go(newest.forget, ON) == [(PAUSE, "")]


def test_thinking_that_nobody_asks_to_keep_is_the_cause_at_the_next_prompt(newest: Session):
    newest.home.extra_env["CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"] = "1"
    lost = newest.go("go [[SCRIPT:thinks]]", ON, extra=("--model", DROPS_THINKING))
    assert lost == [(MODEL, f"claude-opus-5-5 to {DROPS_THINKING}"), (THINKING, "")]


def test_results_that_the_provider_cleared_are_the_cause(newest: Session):
    newest.home.extra_env.update(asking_to_clear(20_000, keep=2, at_least=2_000))
    assert newest.go("go [[SCRIPT:reads]]") == [(CLEARED, "")]


def test_what_happened_between_two_requests_of_the_oldest_client_is_the_cause(oldest: Session):
    assert oldest.go() == []
    oldest.moves_to("Etc/GMT+12")
    assert oldest.go() == [(DATE, "")], "the prompt begins with it"
    oldest.explains("system_changed")
    no_cause = partial(oldest.explains, "")
    prompts = [ON, no_cause, oldest.forget, "/context", ON, oldest.forget, ON]
    assert oldest.go(*prompts, extra=("--append-system-prompt", "Be kind.")) == [(SYSTEM, ""), (COMMAND, "/context"), (UNKNOWN, "")]


def test_an_interruption_of_the_oldest_client_is_the_cause(clients: dict[str, installs.Installed], tmp_path: Path):
    """It ends what it has begun: an Escape before that marks the turn as over, and the command runs on to its own timeout."""
    endless = {"command": "touch begun; until [ -e seen ]; do sleep 0.1; done", "timeout": 600_000}
    with CachingApi({"slow": [call(("Bash", endless))], "on": [say("on it goes")]}) as api:
        home = ClientHome(tmp_path, clients["oldest"], api.url)
        with ClientTerminal(home) as terminal:
            terminal.wait_ready()
            terminal.send("go [[SCRIPT:slow]]")
            terminal.wait(lambda _shown: (home.work / "begun").exists())
            terminal.interrupt()
            api.cache.forget()
            terminal.ask(ON, lambda shown: "on it goes" in shown)
            terminal.wait_idle()
        (transcript,) = (home.config / "projects").glob("*/*.jsonl")
        assert losses_of(transcript) == [(INTERRUPTION, "")]


def test_a_subagent_is_recognised_by_what_its_own_file_notes(newest: Session):
    """Only the notes of its own requests tell that they are the same, so that the cache was gone before its time."""
    newest.api.forgets_at = "toolu_job_0"  # before its second request
    newest.go("go [[SCRIPT:asks]]")
    (agent,) = newest.transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    assert losses_of(agent) == [(EARLY, "")]
