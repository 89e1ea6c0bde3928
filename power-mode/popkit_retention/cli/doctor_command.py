"""`popkit doctor`: check that everything is in place. A finding says how to fix what is not. Reads only.

Exit 1 when there is a problem; warnings leave it 0.
"""

from __future__ import annotations

import os

from popkit_retention.core import text, units
from popkit_retention.core.config import layers
from popkit_retention.core.io import home
from popkit_retention.core.io.findings import OK, PROBLEM, WARNING, Check
from popkit_retention.core.io.system import now as time_of_day

from .. import features
from ..operations import stores
from . import doctor_data_rules, doctor_failures, doctor_helper, doctor_states
from .answering import Answer
from .doctor_folder import configuration, state_folder
from .doctor_interpreter import interpreter
from .doctor_plugin import client, plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


_INDENT = " " * 9


def run(_args: Words, environ: Mapping[str, str]) -> Answer:
    """Make all checks."""
    checks = all_checks(environ)
    problems = sum(check.level == PROBLEM for check in checks)
    warnings = sum(check.level == WARNING for check in checks)
    summary = f"{units.counted(problems, 'problem')}, {units.counted(warnings, 'warning')}." if problems or warnings else "All is well."
    lines = [line for check in checks for line in _lines_of(check)]
    return Answer([*lines, "", summary], {"ok": not problems, "checks": [check.to_json() for check in checks]}, code=int(problems > 0))


def all_checks(environ: Mapping[str, str]) -> list[Check]:
    """Return all findings, in the order in which things can go wrong."""
    from .commands import version

    try:
        popkit_home = home.popkit_home(environ)
    except home.NoHome as error:
        return [Check("state folder", PROBLEM, str(error), "Hooks do nothing until then.")]
    project = os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    enabled = layers.load(home.plugin_root(), popkit_home, project).get("enabled") is not False
    claude, now = client(environ), time_of_day(environ)
    of_other_hosts = [check for checks in features.offering("checks") for check in checks(environ)]
    claude_code = [claude, plugin(popkit_home, project, environ, enabled, now)]
    checks = [
        interpreter(popkit_home, environ),
        *(claude_code if claude.facts or not of_other_hosts else []),  # some users have only another host
        *of_other_hosts,
        state_folder(popkit_home),
    ]
    if checks[-1].level == PROBLEM:
        return checks  # a file that cannot be read cannot be checked
    return [
        *checks,
        doctor_helper.helper(popkit_home, project, environ, str(claude.facts.get("version") or ""), version()),
        doctor_failures.hook_errors(popkit_home),
        *doctor_failures.messages(popkit_home, now),
        *doctor_data_rules.rules_on_data(popkit_home, project, environ),
        *(storage.check(popkit_home, project, environ, now) for storage in stores.every() if storage.check),
        configuration(popkit_home, project),
        doctor_states.agreement(popkit_home, project, environ),
    ]


def _lines_of(check: Check) -> list[text.Line]:
    lines = text.pair(check.level, f"{check.name}: {check.text}", len(_INDENT))
    if check.advice and check.level != OK:
        lines += text.indented(text.wrap("→ " + check.advice, indent="  "), _INDENT)
    return lines
