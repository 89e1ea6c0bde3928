"""`popkit config`: is the configuration right, what does it say, and which file says it.

Reads only. Exit 0 when all is well, 1 when there are problems.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap

from ..edges import config_check, home
from ..edges.config_reader import Layer, merge, read_layers
from ..policy.ruleset import PRESERVED_PATTERNS, THRESHOLDS
from ..policy.tiers import TIER_CONFIG

WIDTH, KEY_WIDTH, VALUE_WIDTH = 76, 41, 21

# What holds where no file says anything.
BUILT_IN = {
    "enabled": True,
    "profile": "spec",
    "tiers": TIER_CONFIG,
    "tool_overrides": {},
    "preserved_patterns": list(PRESERVED_PATTERNS),
    "thresholds": THRESHOLDS,
    "window_tokens": None,
    "pins": [],
}


def add_parser(subparsers) -> None:
    parser = subparsers.add_parser("config", help="check and show the configuration")
    parser.set_defaults(run=run)
    acts = parser.add_subparsers(dest="act", metavar="ACT", required=True)
    check = acts.add_parser("check", help="report every problem with file, key, value and what is allowed")
    check.add_argument("files", nargs="*", metavar="FILE", help="these files, instead of those that hold here")
    show = acts.add_parser("show", help="show each value and where it comes from")
    path = acts.add_parser("path", help="show the files, lowest first")
    acts.add_parser("schema", help="print the JSON Schema for editors")
    for act in (check, show):
        act.add_argument("--json", action="store_true", help="as JSON")
    for act in (check, show, path):
        act.add_argument("--project", metavar="DIR", help="the project (default: $CLAUDE_PROJECT_DIR, else this folder)")


def run(args, environ=os.environ, root: str | None = None) -> int:
    """Run one act of `popkit config`; `root` is the plugin's folder, by default the one that this file lies in."""
    root = root or home.plugin_root()
    if args.act == "schema":
        return _schema(root)
    folders = (root, _state_home(environ), os.path.abspath(_project(args, environ)))
    if args.act == "check":
        return _check(args, folders)
    return _show(args, folders) if args.act == "show" else _path(folders)


def _project(args, environ) -> str:
    return args.project or environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def _state_home(environ) -> str | None:
    try:
        return home.popkit_home(environ)
    except home.NoHome:
        return None


def _schema(root: str) -> int:
    path = os.path.join(root, "docs", "retention-config.schema.json")
    try:
        with open(path, encoding="utf-8") as schema:
            sys.stdout.write(schema.read())
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _check(args, folders: tuple) -> int:
    if args.files:
        files = args.files
        problems = [problem for path in files for problem in config_check.check_file(path)]
    else:
        files, problems = config_check.check_layers(*folders)
    if args.json:
        report = {"ok": not problems, "files": files, "problems": [problem._asdict() for problem in problems]}
        print(json.dumps(report, indent=2))
    else:
        _print_problems(files, problems)
    return 1 if problems else 0


def _print_problems(files: list[str], problems: list) -> None:
    file = None
    for problem in problems:
        if problem.file != file:
            file = problem.file
            print(file)
        found = problem.key + (": " if problem.key and problem.value else "") + problem.value
        if found:
            print(f"  {found}")
        for said in (f"allowed: {problem.allowed}", problem.hint):
            if said:
                print(textwrap.fill(said, WIDTH, initial_indent="    ", subsequent_indent="      "))
    if problems:
        print(f"{_counted(len(problems), 'problem')}. What cannot be used is left out; the layer below it counts.")
    else:
        print(f"No problems in {_counted(len(files), 'file')}:")
        print("\n".join(f"  {path}" for path in files))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _path(folders: tuple) -> int:
    for layer in read_layers(*folders):
        print(f"{layer.name:<11} {layer.path}{_state(layer)}")
    return 0


def _state(layer: Layer) -> str:
    if layer.error:
        return f" (ignored: {layer.error})"
    if layer.ignored:
        return f" ({_counted(len(layer.ignored), 'value')} ignored)"
    return "" if os.path.lexists(layer.path) else " (not there)"


def _show(args, folders: tuple) -> int:
    layers = read_layers(*folders)
    refused: list = []
    merge(layers, refused)
    problems = bool(refused) or any(layer.error or layer.ignored for layer in layers)
    rows = sources(layers)
    if args.json:
        values = [{"key": key, "value": value, "source": layer.name, "file": layer.path} for key, value, layer in rows]
        files = [{"layer": layer.name, "file": layer.path, "error": layer.error} for layer in layers]
        print(json.dumps({"values": values, "files": files}, indent=2))
        return 1 if problems else 0
    for key, value, layer in rows:
        # Descriptions decide nothing, and are wide.
        if not key.endswith(".description"):
            print("\n".join(_row(key, value, layer.name)))
    print("\nThe files, lowest first:")
    _path(folders)
    print("\nA session's own profile and pins lie above them: /popkit:context retention")
    if problems:
        print("Some values are left out: popkit config check says which and why.")
    return 1 if problems else 0


def _row(key: str, value: object, source: str) -> list[str]:
    """One row, or one line for each item of a list; a list that is empty has one row."""
    if isinstance(value, list) and value:
        cells = [json.dumps(item, ensure_ascii=False) for item in value]
    else:
        cells = [json.dumps(value, ensure_ascii=False)]
    lines = [f"{key:<{KEY_WIDTH}} {cells[0]:<{VALUE_WIDTH}} {source}"]
    return lines + [f"{'':<{KEY_WIDTH}} {cell}" for cell in cells[1:]]


def sources(layers: list[Layer]) -> list[tuple[str, object, Layer]]:
    """(key, value, layer that it comes from) for each plain value and list of the effective configuration."""
    layers = [Layer("built-in", "", BUILT_IN), *layers]
    origin: dict = {}
    for count, layer in enumerate(layers, 1):
        # Thresholds as written: alone, some of them might not rise with the built-in ones.
        alone = dict(leaves({**merge([layer]), "thresholds": layer.values.get("thresholds", {})}))
        held = dict(leaves(merge(layers[:count])))
        # A layer that repeats the value below it is the one to edit, so it is the source too.
        origin = {
            path: layer if path not in origin or (path in alone and alone[path] == value) else origin[path]
            for path, value in held.items()
        }
    return [(config_check.dotted(path), value, origin[path]) for path, value in held.items()]


def leaves(value: object, path: tuple = ()):
    """(path, value) of everything in nested objects that is no object, or an empty one."""
    if isinstance(value, dict) and (value or not path):
        for key, member in value.items():
            yield from leaves(member, (*path, key))
    else:
        yield path, value
