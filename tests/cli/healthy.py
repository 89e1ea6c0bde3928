"""A machine on which `popkit doctor` finds nothing wrong, and what it finds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.played import Played

INSTALLED = {"version": 2, "plugins": {"popkit@popkit": [{"scope": "user", "version": "0.1.0"}]}}


def machine(folder: Path) -> Played:
    """One where all is well: a client, the plugin installed and enabled, a session that the hooks have seen. The folder's path is a short
    one: sockets want that."""
    played = Played(folder)
    played.has_client("2.1.330")
    installed(played, {"popkit@popkit": True})
    return played


def installed(played: Played, enabled: dict, known: dict = INSTALLED) -> None:
    plugins = played.claude / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "installed_plugins.json").write_text(json.dumps(known))
    played.settings.write_text(json.dumps({"enabledPlugins": enabled}))


def found(played: Played, name: str, **env: str) -> dict:
    """One check, as --json tells it. What it finds of the interpreter goes by which one its process has."""
    answer = (played.popkit if name == "interpreter" else played.run)("doctor", "--json", **env)
    assert answer.stderr == ""
    checks = {check["check"]: check for check in json.loads(answer.stdout)["checks"]}
    return checks[name]


def is_busy(shown: str) -> bool:
    """Whether it warns that an interpreter takes long to start, which comes and goes with what else the machine does."""
    return "Is the machine busy" in " ".join(shown.split())
