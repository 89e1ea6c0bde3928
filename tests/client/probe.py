"""The hook probe seen from a test: which plugin folder to load, what the hooks answer, what they recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.patience import HANG_S

SOURCE = Path(__file__).parent / "hook_probe"


class Probe:
    """One plugin folder (the shipped one, or a copy with other hooks) and the folder its hooks record into."""

    def __init__(self, records: Path, plugin_dir: Path = SOURCE) -> None:
        self.folder = records
        self.folder.mkdir(parents=True, exist_ok=True)
        self.plugin_dir = plugin_dir

    @classmethod
    def with_hooks(cls, root: Path, hooks: dict[str, Any]) -> Probe:
        """A copy of the plugin whose hooks.json holds these hooks; `probe_hook` makes one entry."""
        copy = root / "probe_plugin"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        return cls(root / "probe_records", copy)

    @property
    def env(self) -> dict[str, str]:
        """What the client needs in its environment for the hooks to find the folder."""
        return {"POPKIT_PROBE_DIR": str(self.folder)}

    def answer(self, **answers: Any) -> None:
        """What hooks print, by event name, or by `Event:prompt`; `pause` slows calls down by tool name."""
        (self.folder / "answers.json").write_text(json.dumps(answers))

    def records(self, event: str | None = None) -> list[dict[str, Any]]:
        """The recorded calls in the order in which the hooks finished."""
        paths = sorted(self.folder.glob("[0-9]*.json"))
        found = [json.loads(path.read_text()) for path in paths]
        return [record for record in found if event in (None, record["payload"]["hook_event_name"])]

    def payloads(self, event: str | None = None) -> list[dict[str, Any]]:
        """The payloads alone."""
        return [record["payload"] for record in self.records(event)]


def probe_hook(**changes: Any) -> list[dict[str, Any]]:
    """The hooks.json value of one event: run the probe for everything."""
    hook = {"type": "command", "command": 'python3 "${CLAUDE_PLUGIN_ROOT}/hooks/probe.py"', "timeout": int(HANG_S), **changes}
    return [{"hooks": [hook]}]
