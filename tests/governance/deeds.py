"""What a process does that tests kill: see killing.py."""

from __future__ import annotations

import os
import signal

from hooks.utils.edges import durable
from popkit_retention.governance import policy_file
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.folder import Folder
from popkit_retention.governance.log import Log
from popkit_retention.governance.policies import DOMAINS, merged
from tests.governance.states import changed


def write(path: str, text: str) -> None:
    """One durable file."""
    durable.write(path, text.encode())
    durable.sweep(os.path.dirname(path))  # noqa: PTH120


def note(home: str, ids: list[str]) -> None:
    """One deed: in the log, done, noted as done."""
    folder = Folder(home)
    with folder.lock():
        log = Log(folder.log_path)
        log.done(log.append("marked", "rag", ids, {"params": {"limit": 5}}, "user", 1.5, {"do": "mark", "ids": ids}).number)
        log.close()


def die_in_the_lock(home: str) -> None:
    """Holds the lock, and is killed."""
    with Folder(home).lock():
        os.kill(os.getpid(), signal.SIGKILL)


def configure(domain: str, config: dict) -> None:
    """Configures in the home that the environment names."""
    with Controller(os.environ) as controller:
        controller.configure(domain, config)


def accept() -> None:
    """The user's yes to all that waits, in the home that the environment names."""
    with Controller(os.environ) as controller:
        for each in controller.requests()["requests"]:
            controller.accept(each["request"])


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
