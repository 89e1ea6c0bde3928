"""Read the settings of Claude Code's own compactions, which a person makes in its environment, its settings or by /autocompact (which
writes settings).

A host's own default for a model may be smaller than the window, which only the client knows; so may what a running session was told by
--settings. It says so where code of ours runs inside it.
"""

from __future__ import annotations

from ...io import files, home
from ...io.system import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The client compacts as if the window were no larger than this says, but never as if it were smaller than the least.
_WINDOW, _LEAST_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", 100_000
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"  # of what an answer leaves of the window; it can only lower
_OFF = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
_UNITS = {"k": 1_000, "m": 1_000_000}
_MANAGED = "/etc/claude-code/managed-settings.json"


def told(environ: Mapping[str, str], folder: str, model: str = "") -> dict[str, object]:
    """Return what a person has told the host about compactions by itself: for which `window` (tokens), at which `percent` of it, both None
    where nothing usable is said, and whether they are `off`. `folder`: of the project; `model`: id."""
    window, is_on = _of_settings(environ, folder, model)
    off = not is_on or any(environ.get(name, "").strip().lower() in ("1", "true", "yes", "on") for name in _OFF)
    return {"window": window_told(environ) or window, "percent": _percent(environ.get(_PERCENT, "")), "off": off}


def window_told(environ: Mapping[str, str]) -> int | None:
    """Return the tokens of the window that the environment tells the host to compact for; None where nothing usable is said."""
    said = environ.get(_WINDOW, "").strip().lower().replace(",", "").replace("_", "")
    unit = _UNITS.get(said[-1:], 1)
    number = said[: -1 if unit > 1 else None]
    return max(_LEAST_WINDOW, int(number) * unit) if number.isdecimal() and number.isascii() and len(number) < 10 else None


def _percent(said: str) -> float | None:
    number = said.strip().rstrip("%")
    try:
        value = float(number) if number.isascii() and len(number) < 10 else 0.0
    except ValueError:
        return None
    return value if 0 < value <= 100 else None


def _of_settings(environ: Mapping[str, str], folder: str, model: str) -> tuple[int | None, bool]:
    """Return (the window, whether the host compacts by itself), as the settings say; of several files the later one decides."""
    try:
        own = join(home.claude_folder(environ), "settings.json")
    except home.NoHome:
        own = ""
    projects = [join(folder, ".claude", name) for name in ("settings.json", "settings.local.json")] if folder else []
    window: object = None
    is_on = True
    for path in filter(None, (own, *projects, _MANAGED)):
        settings = files.read_object(path)
        models = settings.get("modelSettings")
        for_model = [each for name, each in models.items() if model and _bare(name) == _bare(model)] if isinstance(models, dict) else []
        for each in (settings, *for_model):  # in one file that of the model decides
            if isinstance(each, dict) and "autoCompactWindow" in each:
                window = each["autoCompactWindow"]
        if isinstance(settings.get("autoCompactEnabled"), bool):
            is_on = settings["autoCompactEnabled"]
    return (window if type(window) is int and window >= _LEAST_WINDOW else None), is_on


def _bare(model: str) -> str:
    """Return a model's id without the mark of its window and its date."""
    name = model.partition("[")[0]
    start, _, date = name.rpartition("-")
    return start if len(date) == 8 and date.isdigit() else name


def reported(breakdown: object) -> int | None:
    """Return the tokens at which the client says that it compacts, in its breakdown of the context; 0 for never, None where it says
    nothing."""
    if not isinstance(breakdown, dict) or not isinstance(breakdown.get("isAutoCompactEnabled"), bool):
        return None
    tokens = breakdown.get("autoCompactThreshold")
    return tokens if breakdown["isAutoCompactEnabled"] and type(tokens) is int and 0 < tokens < 10**9 else 0
