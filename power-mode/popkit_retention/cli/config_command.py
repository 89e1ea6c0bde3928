"""`popkit config`: is the configuration right, what does it say, and which file says it.

Reads only. Exit 0 when all is well, 1 when there are problems.
"""

from __future__ import annotations

import json
import os
import sys

from hooks.utils import text
from hooks.utils.config.fields import FIELDS
from hooks.utils.config.layers import Layer, merge, read_layers
from hooks.utils.io import home

from ..json_schema import json_schema
from . import config_checking, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hooks.utils.flag_parser import Parsed

KEY_WIDTH, VALUE_WIDTH = 41, 21

# What holds where no file says anything.
BUILT_IN = {key: field["default"] for key, field in FIELDS.items()}


def run(args: Parsed, environ: Mapping[str, str], root: str = "") -> int:
    """Do one operation of `popkit config`; `root` is the plugin's folder, by default the one that this file lies in."""
    root = root or home.plugin_root()
    if args.word == "schema":
        print(json.dumps(json_schema(), indent=2))
        return 0
    folders = (root, _state_home(environ), os.path.abspath(_project(args, environ)))
    problems, lines = {"check": _check, "show": _show, "path": _path}[args.word](args, folders)
    screen.show(lines, sys.stdout, environ)
    return int(problems)


def _project(args: Parsed, environ: Mapping[str, str]) -> str:
    return args.project or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def _state_home(environ: Mapping[str, str]) -> str | None:
    try:
        return home.popkit_home(environ)
    except home.NoHome:
        return None


def _check(args: Parsed, folders: tuple) -> tuple[bool, list]:
    if args.arguments:
        files = args.arguments
        problems = [problem for path in files for problem in config_checking.check_file(path)]
    else:
        files, problems = config_checking.check_layers(*folders)
    if args.json:
        report = {"ok": not problems, "files": files, "problems": [problem._asdict() for problem in problems]}
        return bool(problems), [json.dumps(report, indent=2)]
    return bool(problems), _problem_lines(problems) if problems else _files_without(files)


def _problem_lines(problems: list) -> list:
    lines: list = []
    file = None
    for problem in problems:
        if problem.file != file:
            file = problem.file
            lines.append(text.clean(file))
        what = problem.key + (": " if problem.key and problem.value else "") + problem.value
        if what:
            lines.append("  " + text.clean(what))
        for note in (f"allowed: {problem.allowed}", problem.hint):
            if note:
                lines += text.wrap("    " + note, indent="      ")
    return [*lines, f"{text.counted(len(problems), 'problem')}. What cannot be used is left out; the layer below it counts."]


def _files_without(files: list) -> list:
    return [f"No problems in {text.counted(len(files), 'file')}:", *("  " + text.clean(path) for path in files)]


def _path(args: Parsed, folders: tuple) -> tuple[bool, list]:
    return False, [text.clean(f"{layer.name:<11} {layer.path}{_state(layer)}") for layer in read_layers(*folders)]


def _state(layer: Layer) -> str:
    if layer.error:
        return f" (ignored: {layer.error})"
    if layer.ignored:
        return f" ({text.counted(len(layer.ignored), 'value')} ignored)"
    return "" if os.path.lexists(layer.path) else " (not there)"


def _show(args: Parsed, folders: tuple) -> tuple[bool, list]:
    layers = read_layers(*folders)
    refused: list = []
    merge(layers, refused)
    problems = bool(refused) or any(layer.error or layer.ignored for layer in layers)
    rows = sources(layers)
    if args.json:
        values = [{"key": key, "value": value, "source": layer.name, "file": layer.path} for key, value, layer in rows]
        files = [{"layer": layer.name, "file": layer.path, "error": layer.error} for layer in layers]
        return problems, [json.dumps({"values": values, "files": files}, indent=2)]
    lines = [line for key, value, layer in rows if not _in_the_way(key, layer) for line in _row(key, value, layer.name)]
    lines += ["", "Shipped models are left out here; --json lists them."]
    lines += ["", "The files, lowest first:", *_path(args, folders)[1], ""]
    lines += ["A session's own profile and pins lie above them: /popkit:context retention"]
    if problems:
        lines += ["Some values are left out: popkit config check says which and why."]
    return problems, lines


def _in_the_way(key: str, layer: Layer) -> bool:
    """Return whether a row is left out: descriptions decide nothing, and are wide; the shipped models are a hundred rows."""
    return key.endswith(".description") or (key.startswith("models.by_id") and layer.name == "shipped")


def _row(key: str, value: object, source: str) -> list:
    """Return one row, or one line for each item of a list; a list that is empty has one row."""
    items = value if isinstance(value, list) and value else [value]
    cells = [text.clean(config_checking.shown(item)) for item in items]
    lines = [f"{_padded(text.clean(key), KEY_WIDTH)} {_padded(cells[0], VALUE_WIDTH)} {source}"]
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
    return [(config_checking.dotted(path), value, origin[path]) for path, value in held.items()]


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Return (path, value) of everything in nested objects that is no object, or an empty one."""
    if isinstance(value, dict) and (value or not path):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    else:
        yield path, value
