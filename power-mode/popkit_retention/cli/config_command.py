"""`popkit config`: check the configuration, or show each value with the file that sets it. Reads only.

Exit 0 when all is well, 1 when there are problems.
"""

from __future__ import annotations

import os

from popkit_retention.core import text, units
from popkit_retention.core.config.fields import FIELDS
from popkit_retention.core.config.layers import Layer, merge, read_layers
from popkit_retention.core.config.schema import json_schema
from popkit_retention.core.io import home

from .answering import Answer
from .config_problems import check_file, check_layers, dotted, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from popkit_retention.core.flag_parser import Words


KEY_WIDTH, VALUE_WIDTH = 41, 21
# Values where no file sets them.
BUILT_IN = {key: field["default"] for key, field in FIELDS.items()}


def schema(_args: Words, _environ: Mapping[str, str]) -> Answer:
    """Return the JSON Schema of the configuration."""
    return Answer([], content=text.as_json(json_schema()))


def _folders(args: Words, environ: Mapping[str, str], root: str) -> tuple[str, str | None, str]:
    """Return the plugin's folder, ours and the project's. `root`: the plugin's folder, by default the one that this file is in."""
    project = args.project or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    return root or home.plugin_root(), _state_home(environ), os.path.abspath(project)


def _state_home(environ: Mapping[str, str]) -> str | None:
    try:
        return home.popkit_home(environ)
    except home.HomeRefused:
        raise
    except home.NoHome:
        return None


def check(args: Words, environ: Mapping[str, str], root: str = "") -> Answer:
    """Report every problem of the files that apply, or of those that are named."""
    folders = _folders(args, environ, root)
    if args.arguments:
        files = args.arguments
        problems = [problem for path in files for problem in check_file(path)]
    else:
        files, problems = check_layers(*folders)
    data = {"ok": not problems, "files": files, "problems": [problem._asdict() for problem in problems]}
    return Answer(_problem_lines(problems) if problems else _no_problem_lines(files), data, code=int(bool(problems)))


def _problem_lines(problems: list) -> list:
    lines: list = []
    file = None
    for problem in problems:
        if problem.file != file:
            file = problem.file
            lines.append(text.clean(file))
        setting = problem.key + (": " if problem.key and problem.value else "") + problem.value
        if setting:
            lines.append("  " + text.clean(setting))
        for note in (f"allowed: {problem.allowed}", problem.hint):
            if note:
                lines += text.wrap("    " + note, indent="      ")
    summary = f"{units.counted(len(problems), 'problem')}. Where a value cannot be used, that of the layer below applies."
    return [*lines, *text.wrap(summary)]


def _no_problem_lines(files: list) -> list:
    return [f"No problems in {units.counted(len(files), 'file')}:", *("  " + text.clean(path) for path in files)]


def path(args: Words, environ: Mapping[str, str], root: str = "") -> Answer:
    """Return the files that apply, lowest first."""
    folders = _folders(args, environ, root)
    return Answer(_file_lines(read_layers(*folders)))


def _file_lines(layers: list[Layer]) -> list:
    return [text.clean(f"{layer.name:<11} {layer.path}{_state(layer)}") for layer in layers]


def _state(layer: Layer) -> str:
    if layer.error:
        return f" (ignored: {layer.error})"
    if layer.ignored:
        return f" ({units.counted(len(layer.ignored), 'value')} ignored)"
    return "" if os.path.lexists(layer.path) else " (not there)"


def show(args: Words, environ: Mapping[str, str], root: str = "") -> Answer:
    """Return each value, and where it comes from."""
    folders = _folders(args, environ, root)
    layers = read_layers(*folders)
    refused: list = []
    merge(layers, refused)
    has_problems = bool(refused) or any(layer.error or layer.ignored for layer in layers)
    rows = sources(layers)
    data = {
        "values": [{"key": key, "value": value, "source": layer.name, "file": layer.path} for key, value, layer in rows],
        "files": [{"layer": layer.name, "file": layer.path, "error": layer.error} for layer in layers],
    }
    lines = [line for key, value, layer in rows if not _is_hidden(key, layer) for line in _row(key, value, layer.name)]
    lines += ["", "Shipped models are left out here; --json lists them."]
    lines += ["", "The files, lowest first:", *_file_lines(layers), ""]
    lines += ["A session's own profile and pins take precedence: /popkit:context retention"]
    if has_problems:
        lines += ["Some values are ignored: popkit config check says which and why."]
    return Answer(lines, data, code=int(has_problems))


def _is_hidden(key: str, layer: Layer) -> bool:
    """Return whether a row is left out: descriptions have no effect and are wide, and the shipped models are a hundred rows."""
    return key.endswith(".description") or (key.startswith("models.by_id") and layer.name == "shipped")


def _row(key: str, value: object, source: str) -> list:
    """Return one row, or one line for each item of a list; an empty list has one row. A key that is too wide stands on a line of its
    own."""
    items = value if isinstance(value, list) and value else [value]
    cells = [text.clean(shown(item)) for item in items]
    key = text.clean(key)
    above, key = ([key], "") if text.width(key) > KEY_WIDTH else ([], key)
    lines = [*above, f"{_padded(key, KEY_WIDTH)} {_padded(cells[0], VALUE_WIDTH)} {source}"]
    return lines + [f"{'':<{KEY_WIDTH}} {cell}" for cell in cells[1:]]


def _padded(cell: str, columns: int) -> str:
    return cell + " " * (columns - text.width(cell))


def sources(layers: list[Layer]) -> list[tuple[str, object, Layer]]:
    """Return (key, value, layer that it comes from) for each plain value and list of the effective configuration."""
    layers = [Layer("built-in", "", BUILT_IN), *layers]
    origin: dict = {}
    held: dict = {}
    for count, layer in enumerate(layers, 1):
        # Thresholds as written: alone, some of them might not rise with the built-in ones.
        alone = dict(leaves({**merge([Layer("", "", layer.values)]), "thresholds": layer.values.get("thresholds", {})}))
        below, held = held, dict(leaves(merge(layers[:count])))
        # A layer that repeats the value below it is the one to edit, so it is the source too.
        origin = {
            path: origin[path] if path in below and below[path] == value and not (path in alone and alone[path] == value) else layer
            for path, value in held.items()
        }
    return [(dotted(path), value, origin[path]) for path, value in held.items()]


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Return (path, value) of everything in nested objects that is not an object, or an empty one."""
    if isinstance(value, dict) and (value or not path):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    else:
        yield path, value
