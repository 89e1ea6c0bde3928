"""The checks of `popkit doctor` on the log of failures."""

from __future__ import annotations

import os
import time

from popkit_retention.core import units
from popkit_retention.core.io import files, hook_log
from popkit_retention.core.io.codec import dumps
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check
from popkit_retention.core.io.storage import LOGS, Storage
from popkit_retention.core.text import clean
from popkit_retention.core.units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SEEN = "doctor.json"  # the failures that were reported last time
FAULTY, FAULTY_DAYS = "messages", 7  # of the log of failures: what agents sent


def hook_errors(popkit_home: str) -> Check:
    """Return the failures of hooks since the last check, and where their log is."""
    log = hook_log.log_path(popkit_home)
    try:
        lines = [line for line in hook_log.logged_failures(popkit_home) if line.split(" ")[1:2] != [FAULTY]]
    except OSError as error:
        return Check("hook errors", PROBLEM, f"{log} cannot be read: {error.strerror}", "Change its owner to you.", log=log)
    stamps = [line.split(" ", 1)[0] for line in lines]
    newest, seen = _known_failures(popkit_home)
    fresh = sum(stamp > newest for stamp in stamps) + max(0, stamps.count(newest) - seen)
    facts: dict[str, Any] = {"failures": len(lines), "new_failures": fresh, "log": log}
    if stamps:
        _remember(popkit_home, max(stamps), stamps.count(max(stamps)))
    if not lines:
        return Check("hook errors", OK, "none in the log", **facts)
    if not fresh:
        return Check("hook errors", OK, f"none since last time; {units.counted(len(lines), 'failure')} in {log}", **facts)
    summary = f"{units.counted(fresh, 'failure')} since last time, the newest: {lines[-1]}"
    return Check("hook errors", WARNING, summary, f"{log} says where in the code; no session was affected. A report is welcome.", **facts)


def _known_failures(popkit_home: str) -> tuple[str, int]:
    """Return (stamp of the newest failure that was shown, number of failures with that stamp)."""
    try:
        value = files.read_object(os.path.join(popkit_home, SEEN))
        return str(value["newest_failure"]), int(value["with_that_stamp"])
    except (ValueError, KeyError, TypeError):
        return "", 0


def _remember(popkit_home: str, newest: str, number: int) -> None:
    try:
        files.replace_text(os.path.join(popkit_home, SEEN), dumps({"newest_failure": newest, "with_that_stamp": number}))
    except OSError:
        return  # the check of the folder reports it


def messages(popkit_home: str, now: float) -> list[Check]:
    """Check whether an agent or a proxy has sent messages in the last days that a provider would refuse; [] where it never has."""
    try:
        lines = [line.split(" ", 3) for line in hook_log.logged_failures(popkit_home) if line.split(" ")[1:2] == [FAULTY]]
    except OSError:
        return []  # the check of the log reports it
    if not lines:
        return []
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - FAULTY_DAYS * 86_400))
    fresh = [line for line in lines if line[0] >= since]
    facts: dict[str, Any] = {"conversations": len(fresh)}
    if not fresh:
        return [Check("messages", OK, f"no agent has sent any that a provider would refuse for {FAULTY_DAYS} days", **facts)]
    summary = f"{counted(len(fresh), 'conversation')} of agents went out that a provider would refuse, the newest: {clean(fresh[-1][-1])}"
    advice = "Fix the list where it is built: the field popkit of an answer and the proxy's header x-popkit name each fault."
    return [Check("messages", WARNING, summary, advice, **facts)]


STORAGE = (Storage(LOGS, {"": r"doctor\.json|interpreter"}),)  # hooks/launch.sh writes `interpreter`
