"""Operations on policies, holds and the log for processes that tests kill or start at once: see tests/kit."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from popkit_retention.core.archive.content import stamp
from popkit_retention.core.io import durable
from popkit_retention.governance import policy_file
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.data_folder import Folder
from popkit_retention.governance.log import Log
from popkit_retention.governance.policies import DOMAINS, RetentionPolicy, merged
from popkit_retention.governance.policy_file import State


def changed(state: State, domain: str, policy: RetentionPolicy, now: float) -> State:
    """The next revision, with this policy of a domain since `now` (seconds)."""
    return replace(state.with_policies({domain: policy}), revision=state.revision + 1, updated_at=stamp(now))


def write(path: str, text: str) -> None:
    """One durable file."""
    durable.write_durably(path, text.encode())
    durable.sweep_temporary(os.path.dirname(path))  # noqa: PTH120


def note(home: str, ids: list[str]) -> None:
    """One operation: logged, done, noted as done."""
    folder = Folder(home)
    with folder.lock():
        log = Log(folder.log_path)
        log.done(log.append("marked", "rag", ids, {"params": {"limit": 5}}, "user", 1.5, {"do": "mark", "ids": ids}).number)
        log.close()


def lock(home: str, wait_s: float) -> None:
    """Takes the lock."""
    with Folder(home).lock(wait_s):
        pass


def count(home: str, path: str, often: int) -> None:
    """Adds one to the number in a file, so often, each time in the lock."""
    for _ in range(often):
        with Folder(home).lock():
            number = Path(path)
            number.write_text(str(int(number.read_text()) + 1))


def append(path: str, name: str, count: int) -> None:
    """So many entries of a log."""
    log = Log(path)
    for number in range(count):
        log.append("marked", "rag", [f"{name}-{number}"], {}, "user", number)
    log.close()


def configure_often(number: int, often: int) -> None:
    """Configures one key of both domains, so often, to values that nobody else sets; prints what it was answered."""
    for turn in range(often):
        for domain in DOMAINS:
            keep_list = (
                {"keep_session_ids": [f"{domain}-{number}-{turn}"]} if number % 2 else {"keep_context_ids": [number * 1000 + turn + 1]}
            )
            with Controller(os.environ) as controller:
                answer = controller.configure(domain, keep_list)
            print(json.dumps([answer["revision"], domain, keep_list, answer["policy"]]), flush=True)


def hold(domain: str, ids: list[str], now: float) -> None:
    """Holds one after the other until one of them is gone."""
    with Controller(os.environ, now=lambda: now) as controller, suppress(LookupError):
        for id in ids:
            controller.add_hold(domain, "item", id, "Ada", "the audit")


def die_in_the_lock(home: str) -> None:
    """Holds the lock, and is killed."""
    with Folder(home).lock():
        os.kill(os.getpid(), signal.SIGKILL)


def configure(domain: str, config: dict) -> None:
    """Configures in the home that the environment names."""
    with Controller(os.environ) as controller:
        controller.configure(domain, config)


def accept() -> None:
    """The user's approval to all that waits, in the home that the environment names."""
    with Controller(os.environ) as controller:
        for request in controller.requests()["requests"]:
            controller.accept(request["request"])


def roll_back(revision: int) -> None:
    """Both domains, in the home that the environment names."""
    with Controller(os.environ) as controller:
        controller.rollback(revision)


def look() -> None:
    """Only asks, which finishes what others left."""
    with Controller(os.environ) as controller:
        controller.policies()


def log_a_configure(domain: str, config: dict) -> None:
    """Dies when it is logged, before it is written."""
    with Controller(os.environ) as controller, controller.folder.lock():
        log = Log(controller.folder.log_path)
        state = policy_file.read(controller.folder.policies)
        after = changed(state, domain, merged(state.policy(domain), config)[0], 3_000.0).to_json()
        details = {"revision": after["revision"], "policies": {each: after[each] for each in DOMAINS}}
        log.append("configured", domain, [], details, "user", 3_000.0, {"do": "configure", "state": after})
        os.kill(os.getpid(), signal.SIGKILL)
