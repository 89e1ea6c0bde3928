"""`popkit doctor`: is everything in place, and what to do where it is not.

Exit 1 when there is a problem; warnings leave it 0.
"""

from __future__ import annotations

import json
import os
import sys

from hooks.utils.answers.text import WIDTH, counted, wrap
from hooks.utils.config import layers
from hooks.utils.edges import home
from hooks.utils.edges.system import now as time_of_day

from . import doctor_budget, doctor_governance, doctor_helper, doctor_machine, doctor_memory, doctor_state, doctor_warm, screen
from .check import OK, PROBLEM, WARNING, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

_INDENT = " " * 9


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Makes every check and prints what it found."""
    checks = all_checks(environ)
    problems = sum(check.level == PROBLEM for check in checks)
    if args.json:
        print(json.dumps({"ok": not problems, "checks": [check.to_json() for check in checks]}, indent=2))
        return 1 if problems else 0
    warnings = sum(check.level == WARNING for check in checks)
    summary = f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}." if problems or warnings else "All is well."
    screen.show([line for check in checks for line in _shown(check)] + ["", summary], sys.stdout, environ)
    return 1 if problems else 0


def all_checks(environ: Mapping[str, str]) -> list:
    """Every finding, in the order in which things can go wrong."""
    from .main import version

    try:
        popkit_home = home.popkit_home(environ)
    except home.NoHome as error:
        return [Check("state folder", PROBLEM, str(error), "Hooks do nothing until then.")]
    project = os.path.abspath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    enabled = layers.load(home.plugin_root(), popkit_home, project).get("enabled") is not False
    client = doctor_machine.client(environ)
    checks = [
        doctor_machine.interpreter(popkit_home, environ),
        doctor_machine.extras(environ),
        client,
        doctor_machine.plugin(popkit_home, project, environ, enabled, time_of_day(environ)),
        doctor_state.state_folder(popkit_home),
    ]
    if checks[-1].level == PROBLEM:
        return checks  # what cannot be read cannot be judged
    return [
        *checks,
        doctor_helper.helper(popkit_home, project, environ, str(client.facts.get("version") or ""), version()),
        doctor_state.hook_errors(popkit_home),
        *doctor_warm.keep_warm(popkit_home, project, environ, time_of_day(environ)),
        doctor_memory.memory(popkit_home, project, environ, time_of_day(environ)),
        doctor_governance.governance(popkit_home, environ, time_of_day(environ)),
        doctor_budget.budget(popkit_home, environ),
        doctor_state.configuration(popkit_home, project),
        doctor_state.agreement(popkit_home, project, environ),
    ]


def _shown(check: Check) -> list:
    told = wrap(f"{check.name}: {check.text}", WIDTH - len(_INDENT))
    lines = [f"{check.level:<{len(_INDENT)}}{told[0]}", *(_INDENT + line for line in told[1:])]
    if check.advice and check.level != OK:
        lines += [_INDENT + line for line in wrap("→ " + check.advice, WIDTH - len(_INDENT), indent="  ")]
    return lines
