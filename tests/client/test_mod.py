"""The code inside the real client: what is shown already enters once, and nothing that was sent ever changes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from popkit_retention.core import retention_tracker
from popkit_retention.core.policy.context import shared_facts
from popkit_retention.core.state import reconciling, store
from popkit_retention.core.state.rebuild import rebuild
from popkit_retention.core.state.site import Site
from tests.hosts.conformance.faults import ASKED, SERVE, STAND_IN, line

from . import installs
from .client import ClientHome, Run
from .kept import Kept, kept
from .plugin_copy import ROOT, copied, linked
from .scripted_api import Recorded, ScriptedApi, Step, call, say

REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
BIG = "{work}/big.py"
LINES = [f"value_{number} = compute({number * 7})" for number in range(1, 301)]
KILL = 'for s in "$POPKIT_HOME"/run/*.sock; do p=${s%.sock}; kill -9 "${p##*-}" && echo killed; done; sleep 1'
HELPED = 'while :; do for s in "$POPKIT_HOME"/run/*.sock; do p=${s%.sock}; kill -0 "${p##*-}" 2>/dev/null && exit 0; done; sleep 0.1; done'
COPIES = 'for n in $(seq 400); do echo "row $n: copied to place_of_row_$n"; done'
JOB = {"description": "small job", "prompt": "Read it [[SCRIPT:job]]", "subagent_type": "general-purpose", "run_in_background": False}
SCRIPTS = {
    "day": [
        call(("Read", {"file_path": BIG, "limit": 200})),
        call(("Read", {"file_path": BIG, "offset": 100})),
        call(
            ("Edit", {"file_path": BIG, "old_string": "value_150 = compute(1050)\nvalue_151", "new_string": "value_150 = 1050\nvalue_151"})
        ),
        call(("Read", {"file_path": BIG})),
        call(("Agent", JOB)),
        call(("Bash", {"command": "printf '|\\r/\\rc\\n'"})),
        say("the day is done"),
    ],
    "job": [call(("Read", {"file_path": BIG, "limit": 50})), call(("Read", {"file_path": BIG, "limit": 60})), say("read twice")],
    "more": [call(("Read", {"file_path": BIG, "offset": 2})), say("more is done")],
    "twice": [
        call(("Read", {"file_path": BIG, "limit": 200})),
        call(("Read", {"file_path": BIG, "offset": 100})),
        call(("Read", {"file_path": BIG, "offset": 90})),
        call(("Read", {"file_path": BIG, "offset": 80})),
        call(("Read", {"file_path": BIG, "offset": 70})),
        say("done"),
    ],
    "long": [
        call(("Bash", {"command": COPIES})),
        call(("Bash", {"command": COPIES})),
        call(("Bash", {"command": COPIES + "; echo 'ValueError: the price is missing' >&2; exit 3"})),
        say("done"),
    ],
    "killed": [
        call(("Read", {"file_path": BIG, "limit": 200})),
        call(("Bash", {"command": KILL})),
        call(("Read", {"file_path": BIG, "offset": 100})),
        call(("Bash", {"command": HELPED})),
        # The client may read a moment later that there is one.
        *[call(("Read", {"file_path": BIG, "offset": first})) for first in (90, 80, 70)],
        say("done"),
    ],
}


@dataclass
class Session:
    """A home, its session so far, and what of it was sent."""

    home: ClientHome
    api: ScriptedApi
    runs: list[Run] = field(default_factory=list)
    turns: list[Recorded] = field(default_factory=list)  # what was sent before a test goes on from it

    def __post_init__(self) -> None:
        self.api.places["work"] = str(self.home.work)
        self.api.scripts.update(SCRIPTS)
        (self.home.work / "big.py").write_text("\n".join(LINES) + "\n")
        self.popkit = self.home.config / "popkit"
        self.home.extra_env["POPKIT_DOOR_MS"] = "60000"  # the machine may be busy

    def play(self, prompt: str | list[str], plugin: Path | None = None, **more: Any) -> Run:
        self.runs.append(self.home.run_headless(prompt, plugin_dir=plugin or linked(), resume=self.id or None, **more))
        return self.runs[-1]

    @property
    def id(self) -> str:
        return self.runs[0].session_id if self.runs else ""

    def results(self) -> list[str]:
        """What the last request of the main thread shows of the results, in order, without the reminders that the client itself puts behind
        some of them for one request."""
        last = [*self.turns, *self.api.turns()][-1]
        return [REMINDER.sub("", result).rstrip() for result in last.tool_results().values()]

    def journal(self) -> list[dict[str, Any]]:
        path = self.popkit / "sessions" / self.id / "main.journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def entered(self) -> list[dict[str, Any]]:
        return [entry for entry in self.journal() if entry["event"] == "entered"]

    def site(self) -> Site:
        return Site({"POPKIT_HOME": str(self.popkit)}, self.id, str(self.home.work))

    def stored(self) -> dict[str, Any]:
        """What the hooks and the helper have kept, and what one of them could not add in time."""
        site = self.site()
        retention_tracker.change(site, site.paths(), "", lambda _stored, _rules: False)
        return shared_facts(store.load(site.paths()).state)

    def log(self) -> str:
        path = self.popkit / "hooks.log"
        return path.read_text() if path.exists() else ""

    def popkit_says(self, *words: str) -> str:
        env = {**self.home.env(), "CLAUDE_CODE_SESSION_ID": self.id}
        return subprocess.run(
            [ROOT / "bin" / "popkit", *words], env=env, cwd=self.home.work, capture_output=True, text=True, check=False
        ).stdout


def referred(text: str) -> bool:
    return " as in your " in text


def sent(request: Recorded) -> list[str]:
    """The messages of a request, one text each, as the provider compares them: without cache marks, a lone text as the text."""
    texts = []
    for message in request.body["messages"]:
        if message["role"] == "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts.append(json.dumps([message["role"], [_plain(block) for block in blocks]], sort_keys=True))
    return texts


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    content = plain.get("content")
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        plain["content"] = content[0]["text"]
    return plain


def plugin_says(home: ClientHome, *words: str) -> str:
    """What `claude plugin WORDS` prints; it must succeed."""
    done = subprocess.run([home.installed.executable, "plugin", *words], env=home.env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def work(home: ClientHome, api: ScriptedApi) -> Session:
    """A day on one file, with a subagent."""
    session = Session(home, api)
    session.play("go [[SCRIPT:day]]")
    session.turns = api.turns()
    return session


@pytest.fixture(scope="module")
def played(clients: dict[str, installs.Installed]) -> Iterator[Kept]:
    with kept(clients["newest"], work) as session:
        yield session


@pytest.fixture
def day(played: Kept, clients: dict[str, installs.Installed]) -> Session:
    """That day as it was when it had been played, in the newest client."""
    session = played.as_it_was()
    session.home.installed = clients["newest"]
    del session.runs[1:]
    return session


@pytest.fixture
def newest(clients: dict[str, installs.Installed], tmp_path: Path, api: ScriptedApi) -> Session:
    return Session(ClientHome(tmp_path, clients["newest"], api.url), api)


def test_what_was_read_before_enters_as_a_reference(day: Session):
    first, second, _, third, *_ = day.results()
    assert not referred(first)
    handle = day.entered()[0]["handle"]
    assert second.split("\n")[:3] == [
        f"100\t{LINES[99]}",
        f"[lines 101–199 as in your Read of big.py above: from «{LINES[100]}» to «{LINES[198]}»; to see all: popkit restore {handle}]",
        f"200\t{LINES[199]}",
    ]
    shown = third.split("\n")
    assert [line for line in shown if not referred(line)][:4] == [
        f"1\t{LINES[0]}",
        f"149\t{LINES[148]}",
        "150\tvalue_150 = 1050",
        f"151\t{LINES[150]}",
    ]
    assert "as in your Read of big.py above" in shown[1]
    assert referred(shown[-2])
    assert day.log() == ""


def test_what_was_kept_out_is_in_the_figures(day: Session):
    answer = json.loads(day.popkit_says("context", "stats", "--json"))["session"]["figures"]
    journals = (day.popkit / "sessions" / day.id).glob("*.journal.jsonl")
    entered = [line for path in journals for line in path.read_text().splitlines() if json.loads(line)["event"] == "entered"]
    assert answer["kept_out_results"] == len(entered) > len(day.entered()) >= 2, "those of its subagent are the session's, too"
    assert answer["kept_out_tokens"] > 0
    assert 0 < answer["saved_by_usd"]["kept_out"] == answer["net_usd"], "nothing of it was fetched again"


def test_an_edit_of_what_is_only_referred_to_succeeds(day: Session):
    assert "has been updated" in day.results()[2]
    assert "value_150 = 1050\n" in (day.home.work / "big.py").read_text()


def test_every_request_begins_with_what_the_one_before_sent(day: Session):
    main = [turn for turn in day.turns if "[[SCRIPT:day]]" in turn.text]
    assert len(main) == 7
    for before, after in zip(main, main[1:]):
        assert sent(after)[: len(sent(before))] == sent(before)


def test_a_subagent_has_a_door_of_its_own(day: Session):
    agents = [turn for turn in day.turns if "[[SCRIPT:job]]" in turn.text and "[[SCRIPT:day]]" not in turn.text]
    [last] = [turn for turn in agents if len(turn.tool_results()) == 2]
    first, second = last.tool_results().values()
    assert not referred(first)
    assert "as in your Read of big.py above" in second


def test_noise_stays_outside_and_comes_back(day: Session):
    assert day.results()[-1] == "c"
    [entry] = [entry for entry in day.entered() if "noise" in entry["reasons"][0]]
    assert day.popkit_says("restore", entry["handle"]).rstrip("\n").endswith("c")


def test_with_strong_a_long_output_enters_in_part_and_an_error_keeps_its_message(newest: Session):
    newest.popkit.mkdir(parents=True)
    (newest.popkit / "retention-config.json").write_text(json.dumps({"retention": {"shape": "strong"}}))
    newest.play("go [[SCRIPT:long]]")
    rows = [f"row {number}: copied to place_of_row_{number}" for number in range(1, 401)]
    first, again, failed = newest.results()
    assert first.split("\n")[0] == rows[0]
    assert first.split("\n")[-2] == rows[-1]
    assert len(first) < len("\n".join(rows)) / 3
    assert again.rstrip("\n") == "\n".join(rows)
    assert failed.startswith("Exit code 3\n")
    assert "\nValueError: the price is missing\n[PopKit left out " in failed
    entries = newest.entered()
    assert f"to see all: popkit restore {entries[0]['handle']}; they name: place_of_row_" in first
    assert newest.popkit_says("restore", entries[0]["handle"]).rstrip("\n") == "\n".join(rows)
    assert "lines over its budget left out" in " ".join(newest.popkit_says("context", "why", "T1").split())
    turns = [turn for turn in newest.api.turns() if "[[SCRIPT:long]]" in turn.text]
    for before, after in zip(turns, turns[1:]):
        assert sent(after)[: len(sent(before))] == sent(before)
    assert newest.log() == ""


def test_the_archive_has_the_whole_and_why_shows_what_entered(day: Session):
    entry = day.entered()[0]
    assert (
        day.popkit_says("restore", entry["handle"]).rstrip("\n") == "\n".join(f"{n}\t{LINES[n - 1]}" for n in range(100, 301)) + "\n301\t"
    )
    explanation = day.popkit_says("context", "why", "T2")
    assert "kept out: " in explanation
    assert "it refers to T1" in explanation
    assert f"popkit restore {entry['handle']}" in explanation


def test_hooks_and_a_rebuild_agree_on_what_entered(day: Session):
    site = day.site()
    path = str(day.home.transcript_path(day.id))
    rebuilt = rebuild(path, reconciling.journal_of(site, site.paths()), site.rules_for, day.id)
    assert day.stored() == shared_facts(rebuilt.state)
    tokens = {result.id: result.tokens for result in rebuilt.conversation.results()}
    assert [tokens[entry["id"]] for entry in day.entered()] == [entry["tokens"] for entry in day.entered()]


def test_after_a_compaction_of_the_clients_nothing_leans_on_what_is_gone(day: Session):
    (day.popkit / "retention-config.json").write_text(json.dumps({"compact": "off"}))
    day.play(["/compact", "go [[SCRIPT:more]]"])
    assert day.api.of_kind("summary")
    assert not referred(day.results()[-1])


# --- faults ----------------------------------------------------------------------------------------------------------------------

# A helper that fails is started again, so one session meets several; the last of them stays, as does one that answers, whatever it says.
# With --slow each alone, too.
FAULTS = [("absent", "wrong", "crashing", "another shape"), ("garbage", "of another version", "hanging", "mute")]
FAULTS += [pytest.param((fault,), marks=pytest.mark.slow) for fault in SERVE]


@pytest.fixture
def short() -> Iterator[str]:
    """A folder whose path is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(prefix="popkit-") as folder:
        yield folder


@pytest.mark.parametrize("faults", FAULTS, ids=" then ".join)
def test_whatever_is_wrong_with_the_helper_rows_enter_as_they_came(newest: Session, tmp_path: Path, short: str, faults: tuple[str, ...]):
    copy = copied(tmp_path / "popkit")
    stand_in, began = tmp_path / "stand_in.py", tmp_path / "began"
    stand_in.write_text(STAND_IN)
    real = copy / "bin" / "popkit"
    real.rename(copy / "bin" / "real")
    turns = "".join(f"{number}) {line(fault, stand_in, short)};; " for number, fault in enumerate(faults, 1)).replace(
        f"{len(faults)})", "*)"
    )
    real.write_text(
        f"#!/bin/sh\nif [ \"$1\" = serve ]; then echo >> '{began}'; case $(wc -l < '{began}') in {turns}esac; fi\n"
        'exec "$(dirname "$0")/real" "$@"\n'
    )
    real.chmod(0o755)
    del newest.home.extra_env["POPKIT_DOOR_MS"]  # as long as it is with users

    def asked() -> set[str]:
        return {fault for fault in faults if (tmp_path / f"stand_in.py.{ASKED.get(fault)}").exists()}

    def turns_had() -> int:
        return len(began.read_text().splitlines()) if began.exists() else 0

    class UntilAllHadTheirTurn(list):
        """A start is not waited for, so on a busy machine it takes more rows."""

        def __getitem__(self, played: int) -> Step:
            is_over = played >= 10 and turns_had() >= len(faults) and asked() == set(faults) & set(ASKED)
            return say("done") if is_over else super().__getitem__(played)

    rows = [call(("Read", {"file_path": BIG, "offset": first})) for first in range(150, 0, -1)]
    newest.api.scripts["again"] = UntilAllHadTheirTurn([*rows, say("done")])
    run = newest.play("go [[SCRIPT:again]]", plugin=copy)
    assert run.returncode == 0
    assert turns_had() >= len(faults), "each had its turn"
    assert asked() == set(faults) & set(ASKED)
    assert not any(map(referred, newest.results()))
    firsts = range(150, 150 - len(newest.results()), -1)
    assert [result.split("\n")[0] for result in newest.results()] == [f"{first}\t{LINES[first - 1]}" for first in firsts]


def test_a_helper_that_is_killed_is_started_again(newest: Session, short: str):
    newest.home.extra_env["POPKIT_DOOR_MS"] = "8000"  # some rows may wait for the dead one
    newest.home.extra_env["POPKIT_HOME"] = short  # where its path is short, the socket's name tells its process
    run = newest.play("go [[SCRIPT:killed]]")
    assert len(list(Path(short, "sessions").iterdir())) == 1
    assert run.returncode == 0
    assert newest.results()[1] == "killed"
    assert not referred(newest.results()[0])
    assert referred(newest.results()[-1])


def test_a_projects_own_popkit_is_never_run(day: Session):
    ran = day.home.root / "ran"
    folders = [day.home.work / folder for folder in (".", "bin", "node_modules/.bin", ".venv/bin")]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "popkit").write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        (folder / "popkit").chmod(0o755)
    day.home.extra_env["PATH"] = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    day.play(["go [[SCRIPT:more]]", "/popkit timeline"])
    assert referred(day.results()[-1])
    assert not ran.exists()


def test_clients_with_and_without_modules_take_turns_in_one_session(day: Session, clients: dict[str, installs.Installed]):
    entered = day.results()
    for end in ("oldest", "newest"):
        day.home.installed = clients[end]
        assert day.play("go [[SCRIPT:more]]").returncode == 0
        assert day.results()[: len(entered)] == entered
        assert referred(day.results()[-1]) == (end == "newest")
        entered = day.results()
    site = day.site()
    rebuilt = rebuild(str(day.home.transcript_path(day.id)), reconciling.journal_of(site, site.paths()), site.rules_for, day.id)
    assert day.stored() == shared_facts(rebuilt.state)
    assert rebuilt.state.index == len(entered)


def test_two_sessions_at_once_each_refer_to_what_is_theirs(newest: Session):
    both = [newest, Session(newest.home, newest.api)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda session: session.play("go [[SCRIPT:twice]]"), both))
    assert len({session.id for session in both}) == 2
    for session in both:
        ids = {block["tool_use_id"] for line in session.home.transcript(session.id) for block in results_in(line)}
        assert [entry["id"] in ids and set(entry["leans_on"]) <= ids for entry in session.entered()] == [True] * len(session.entered())
        assert session.entered(), "how many depends on when the helper came"
    assert newest.log() == ""


def results_in(line: dict[str, Any]) -> list[dict[str, Any]]:
    content = line.get("message", {}).get("content")
    return [block for block in content if block.get("type") == "tool_result"] if isinstance(content, list) else []


def test_with_nobody_at_the_prompt_nothing_is_started_until_a_tool_is_called(newest: Session):
    newest.api.scripts["twice"] = [
        call(("Read", {"file_path": BIG, "limit": 200})),
        call(("Read", {"file_path": BIG, "offset": 2})),
        say("done"),
    ]
    newest.play("hello")
    assert not (newest.popkit / "standing").exists(), "the helper keeps the breakdown of the first prompt"
    newest.runs.clear()
    newest.play(["go [[SCRIPT:twice]]", "/popkit"])  # answered once that is handed over: a client that ends need not
    assert referred(newest.results()[-1])
    assert (newest.popkit / "standing").exists()
    assert newest.log() == ""


def test_the_window_is_what_the_client_says(day: Session):
    facts = json.loads((day.popkit / "sessions" / day.id / "session.json").read_text())
    assert facts["window_tokens"] == 1_000_000


def test_the_command_answers_without_a_request(day: Session):
    run = day.play("/popkit timeline", plain=True)
    assert "Read big.py" in run.stdout
    assert day.api.requests == []


def test_the_modules_own_tests_pass_on_every_surface(newest: Session, tmp_path: Path):
    plugin = copied(tmp_path / "popkit")
    shutil.copy(Path(__file__).with_name("popkit.test.tsx"), plugin / "hooks" / "mod")  # users get what runs
    output = plugin_says(newest.home, "test", str(plugin))
    assert " 0 fail" in output
    for surface in ("terminal", "desktop", "vscode", "mobile"):
        assert f"(pass) the pane shows the panel and what a button came to: {surface}" in output


def test_the_directory_takes_the_plugin(newest: Session, tmp_path: Path):
    output = plugin_says(newest.home, "validate", "--profile", "directory", str(copied(tmp_path / "popkit")))
    assert "Validation passed with warnings" in output
    # A version would hold back what was not released under a new one, see docs/decisions/install/versions.md.
    assert [line.strip() for line in output.splitlines() if "version: No version specified" in line or "Found" in line] == [
        "⚠ Found 1 warning:", '❯ version: No version specified. Consider adding a version following semver (e.g., "1.0.0")',
    ]  # fmt: skip
