"""Classify the result of a tool call: its kind, its tier, the parts it shows, its effects on other results.

Pure. The tier comes from the first that speaks: a preserved pattern, the result's error state, an override of the configuration,
the built-in reading of the tool's operation (`bash.py` for command lines).
"""

from __future__ import annotations

from . import kinds, parts, tools
from .calls import BACKGROUND, STOPPED, TEXT_CHARS, TOLD, bounded, number_in, text_in
from .estimate import content_of_path
from .masking import mask, without_numbers
from .ruleset import DEFAULT_TIER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from .calls import Call, Outcome
    from .commandline.action import Action, Changes, Move
    from .parts import Part
    from .ruleset import Ruleset

LABEL_CHARS = 100
# The module `bash`, once a command line needed it: it is a third of all that a hook imports.
_BASH: list[ModuleType] = []
# A command line of more than this is classified by its beginning: nobody types that, and a hook must not spend its time on it.
COMMAND_CHARS = 20_000
MOST_FILES = 64  # of one edit

_DECISIONS = (tools.ASK, tools.PLAN)
# What these return is prose; of other tools it is taken for data.
_DIALOGUE = (tools.DELEGATE, tools.REPORT, tools.FETCH, tools.SKILL, *_DECISIONS)


class Classification:
    """The class of a result. `action` is the key of what the call did, so that a later success can answer an earlier error. `ran`: of each
    part, when what it shows was really done, so that it can end what an earlier result shows · `tells`: whether all of it has
    succeeded if it is no error · `moves`: (the number of parts before it, the move, when it was done) of each move to another tree."""

    __slots__ = (
        "action", "basis", "changes", "commits", "content", "edits", "error", "family", "kind", "label", "moves", "parts", "ran",
        "subjects", "tells", "tier",
    )  # fmt: skip

    def __init__(
        self, kind: str, tier: str, label: str, shown: Iterable[Part], subjects: Iterable[str], content: str = "dialogue",
        edits: Sequence[str] = (), commits: bool = False, family: str = "", *, action: str,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.tier = tier
        self.basis: str
        self.label = label
        self.parts = list(shown)
        self.ran = [parts.ALWAYS] * len(self.parts)
        self.tells = True
        self.moves: list[tuple[int, Move, int]] = []
        self.subjects = list(subjects)
        self.content = content
        self.edits = edits  # the paths that a success has changed
        self.commits = commits
        self.changes: list[Changes] = []  # what a success has changed in working trees, as commandline/worktree.py tells it
        self.family = family
        self.action = action
        self.error = False


def shown_path(path: str, cwd: str) -> str:
    """Return a path as a person would name it: relative to the working folder where it lies in it."""
    return path[len(cwd) :].lstrip("/") if cwd and parts.lies_in(path, cwd) else path


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…"


def _read(call: Call, cwd: str, rules: Ruleset) -> Classification:
    path = mask(parts.normal_path(call.path, cwd), tell_apart=True)
    if call.outcome.unchanged:
        label = call.tool + " " + shown_path(path, cwd) + " (unchanged)"
        return Classification(
            kinds.ACK, rules.tier_of_operation(tools.EDIT), label, [("do:unchanged " + path, [])], [path], action="Read:" + path
        )
    lines = call.outcome.interval
    if lines is None:
        first = max(1, number_in(call.asked(tools.FIRST_LINE), 1))
        limit = number_in(call.asked(tools.LINES), 0)
        lines = [first, first + limit - 1] if limit else [first, 0]
    pages = call.asked(tools.PAGES)
    if isinstance(pages, str) and pages:
        lines = parts.pages_of(pages)
    label = call.tool + " " + shown_path(path, cwd) + ("" if lines == [1, 0] else ":" + parts.describe_interval(lines))
    content = content_of_path(path)
    return Classification(
        kinds.READ, rules.tier_of_tool(call.tool), label, [("read:" + path, lines)], [path], content, action="Read:" + path
    )


def _edit(call: Call, cwd: str, rules: Ruleset) -> Classification:
    others = call.tool_input.get(call.traits.others) if call.traits.others else None
    named = [call.path, *(path for path in others[:MOST_FILES] if isinstance(path, str))] if isinstance(others, list) else [call.path]
    paths = [mask(parts.normal_path(path, cwd), tell_apart=True) for path in named]
    label = call.tool + " " + shown_path(paths[0], cwd) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    shown: list[Part] = [("edit:" + path, []) for path in paths]
    classified = Classification(
        kinds.ACK, rules.tier_of_tool(call.tool), label, shown, paths, edits=paths, action="|".join([part[0] for part in shown])
    )
    if call.operation == tools.EDIT_NOTEBOOK:
        classified.ran = [parts.UNSURE]  # another cell, or another one before it
    return classified


def _grep(call: Call, cwd: str, rules: Ruleset) -> Classification:
    pattern = mask(text_in(call.tool_input, call.traits.line), tell_apart=True)
    root = mask(call.path, tell_apart=True)
    roots = [parts.normal_path(root, cwd)] if root else [cwd]
    narrowed = "".join(f" {role}={value}" for role, value in _files_of_search(call).items())
    flags = "U" if call.asked(tools.MULTILINE) is True else ""
    key, scope = parts.content_search(pattern, roots, call.asked(tools.ANY_CASE) is True, flags)
    scope = parts.marked(scope, _shown_of_search(call))
    label = call.tool + ' "' + pattern + '"' + (" in " + shown_path(roots[0], cwd) if root else "") + narrowed
    return Classification(
        kinds.SEARCH, rules.tier_of_tool(call.tool), label, [(key, scope)], roots, "matches", action=parts.action_of((key, scope))
    )


def _files_of_search(call: Call) -> dict[str, str]:
    """Return in which files a search with a tool of the host looks, by GLOB and FILE_TYPE."""
    asked = {role: call.asked(role) for role in (tools.GLOB, tools.FILE_TYPE)}
    return {role: mask(bounded(value, TEXT_CHARS)) for role, value in asked.items() if isinstance(value, str) and value}


def _shown_of_search(call: Call) -> list[str]:
    """Return the marks of a search with a tool of the host: what it leaves out and adds."""
    marks = [parts.LESS + "ignored"]
    files = [("type " if role == tools.FILE_TYPE else "") + value for role, value in _files_of_search(call).items()]
    if files:
        marks.append(parts.LESS + "in " + ", ".join(sorted(files)))
    shows = call.asked(tools.SHOWS)
    mode = shows if isinstance(shows, str) and shows else "files_with_matches" if call.traits.lists_names else "content"
    if mode == "content":
        if call.asked(tools.NUMBERS) is not False and call.traits.lists_names:
            marks.append(parts.MORE + "numbers")
        for role, sides in ((tools.AFTER, ("after",)), (tools.BEFORE, ("before",)), (tools.AROUND, ("after", "before"))):
            number = number_in(call.asked(role), 0)
            marks += [f"{parts.MORE}{side}{parts.AT_LEAST}{number}" for side in sides] if number else []
        if call.asked(tools.ONLY_MATCHES) is True:
            marks.append(parts.LESS + "matches")
    else:
        marks.append(parts.LESS + "names")
        if mode != "files_with_matches":
            marks.append(parts.MORE + mode)
    limit = number_in(call.asked(tools.AT_MOST), 0)
    if limit:
        marks.append(f"{parts.LESS}first of {mode}{parts.AT_MOST}{limit}")
    skipped = number_in(call.asked(tools.SKIPPED), 0)
    if skipped:
        marks.append(f"{parts.OTHERWISE}from {skipped}")
    return marks


def _glob(call: Call, cwd: str, rules: Ruleset) -> Classification:
    pattern = mask(text_in(call.tool_input, call.traits.line, *call.traits.paths), tell_apart=True)
    root = mask(call.path, tell_apart=True)
    roots = [parts.normal_path(root, cwd)] if root else [cwd]
    key, scope = parts.file_search(pattern, roots)
    label, action = call.tool + " " + pattern, parts.action_of((key, scope))
    return Classification(kinds.SEARCH, rules.tier_of_tool(call.tool), label, [(key, scope)], roots, "log", action=action)


def _bash(call: Call, cwd: str, rules: Ruleset) -> Classification:
    if not _BASH:
        from .commandline import bash

        _BASH.append(bash)
    bash = _BASH[0]
    command = mask(call.command[:COMMAND_CHARS], tell_apart=True)
    actions = bash.actions(call.traits.as_posix(command), cwd)
    leading, tier = bash.longest_lived(actions, rules)
    shown: list[Part] = []
    ran, keys, moves, commits = [], [], [], False
    for action in actions:
        keys.append(parts.action_of(action.part))
        commits = commits or action.commits
        if action.move:
            moves.append((len(shown), action.move, action.ran))
        if action.kind != kinds.ACK:
            shown.append(action.part)
            ran.append(action.ran)
    lines = call.outcome.lines
    if lines is not None and "|" in command:
        shown = [part if parts.is_of_lines(part) else parts.uncut(part, lines) for part in shown]
    if lines == 1 and call.outcome.tail[:1] == "l" and " -> " in call.outcome.tail:
        # The link that `ls -l` names, not what is behind it.
        ran = [parts.UNSURE if part[0].startswith(parts.LISTING) else when for part, when in zip(shown, ran)]
    # Acknowledgements show nothing that a re-run would have to cover, unless there is nothing else.
    if not shown:
        shown, ran = [action.part for action in actions], [action.ran for action in actions]
    if call.outcome.fate == BACKGROUND:
        shown, ran = [("do:in the background@" + parts.UNKNOWN, [])], [parts.UNSURE]  # its id is needed, and no other run has it
    classified = Classification(
        leading.kind, tier, call.tool + " " + _main_line(command[:1_000]), shown, _subjects(command, actions),
        _content_of(leading, command), commits=commits, family=leading.family, action="|".join(keys),
    )  # fmt: skip
    classified.changes = [action.changes for action in actions if action.changes]
    classified.ran = ran
    classified.tells = all(action.tells for action in actions)
    classified.moves = moves
    return classified


def _main_line(command: str) -> str:
    """Return the first line of a command that does something: no comment, no mere `cd` or assignment, if another follows."""
    if "\n" not in command:
        return command.strip()
    lines = [line for line in map(str.strip, command.replace("\\\n", " ").split("\n")) if line and line[0] != "#"]
    for line in lines:
        head = line.partition(" ")[0]
        if not (head in ("cd", "set", "export") and "&&" not in line and ";" not in line) and not ("=" in head and head == line):
            return line
    return lines[0] if lines else command.strip().partition("\n")[0]


def _subjects(command: str, actions: list[Action]) -> list[str]:
    """Return what patterns are held against of a command line: the line, its commands, the files that it reads."""
    subjects = [without_numbers(" ".join(command[:400].split()))]
    for action in actions[:8]:
        path = action.part[0].removeprefix(parts.FILE) if action.part[0].startswith(parts.FILE) else ""
        subjects.extend(name for name in (path, without_numbers(action.name)) if name and name not in subjects)
    return subjects


def _content_of(leading: Action, command: str) -> str:
    """Return the kind of content that a command prints."""
    key = leading.part[0]
    if leading.kind == kinds.READ:
        return content_of_path(key)
    if key.startswith("search:content:"):
        return "matches"
    return "diff" if "git diff" in command or "git show" in command else "log"


def _other(call: Call, cwd: str, rules: Ruleset) -> Classification:
    tool = call.tool
    tier = rules.tier_of_tool(tool)
    content = "dialogue" if call.operation in _DIALOGUE else "markup"
    kind = own = call.traits.kind or kinds.OTHER
    if call.operation == tools.TASKS:
        kind, key = kinds.TASKS, "call:tasks"
    else:
        key = "call:" + tool + ":" + _identity(call.tool_input)
        if call.operation in _DECISIONS:
            kind = kinds.DECISION
        elif tier == "ephemeral" and own == kinds.OTHER:
            kind = kinds.ACK
    text = call.about
    label = tool.replace("mcp__", "").replace("__", ".") + (" " + mask(text) if text else "")
    classified = Classification(kind, tier, label, [(key, [])], [mask(text)] if text else [], content, action=key)
    if kind == own and not call.traits.is_getter:
        classified.ran = [parts.UNSURE]  # for the same input it may return something else: what is new, another answer
    return classified


def _identity(value: object) -> str:
    """Return a short name for an input: equal inputs have equal names, and no text of it is kept."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(_canonical(value, 0).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _canonical(value: object, depth: int) -> str:
    if depth > 20:
        return "…"
    if isinstance(value, dict):
        return "{" + ",".join(repr(str(key)) + ":" + _canonical(value[key], depth + 1) for key in sorted(value, key=str)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(item, depth + 1) for item in value) + "]"
    return repr(value)


_READERS = {tools.READ: _read, tools.READ_NOTEBOOK: _read, tools.SEARCH: _grep, tools.FIND: _glob, tools.LIST: _glob}
_READERS.update((*((operation, _edit) for operation in tools.EDITS), *((operation, _bash) for operation in tools.SHELLS)))


def classify(call: Call, cwd: str, rules: Ruleset) -> Classification:
    """Return the classification of a call made in a folder, under a Ruleset; input of any shape is read as far as it makes sense."""
    classified = _READERS.get(call.operation, _other)(call, cwd, rules)
    classified.label = _shorten(without_numbers(classified.label))
    classified.basis = classified.family or classified.kind if call.operation in tools.SHELLS else "tool " + call.tool
    outcome = call.outcome
    classified.error = outcome.error and not _is_empty_search(classified, outcome)
    if not is_answer(call):
        classified.ran = [parts.UNSURE] * len(classified.parts)
        classified.moves = [] if outcome.fate != STOPPED else classified.moves
    override = rules.override(call.tool, classified.subjects)
    if override is not None and not outcome.unchanged:
        classified.tier, classified.basis = override
    if outcome.fate == TOLD:
        _keep_words(classified)
    if classified.error:
        _keep_error(classified, call.operation, rules)
    elif classified.kind == kinds.DECISION:
        if rules.preserve_decisions:
            classified.tier, classified.basis = "preserved", "a decision of the user"
        elif override is None and classified.tier == "preserved":
            classified.tier = DEFAULT_TIER
    pattern = rules.preserving_glob(classified.subjects) if classified.kind != kinds.ACK else None
    if pattern is not None:
        classified.tier, classified.basis = "preserved", "preserved pattern " + pattern
    return classified


def is_answer(call: Call) -> bool:
    """Return whether a result shows how its call went. A shell's error has an exit code: without one the command never ran."""
    outcome = call.outcome
    return outcome.is_whole and not (outcome.error and outcome.exit_code is None and call.operation in tools.SHELLS)


def _is_empty_search(classified: Classification, outcome: Outcome) -> bool:
    """Return whether a search exited 1 with no output: it found nothing, which is an answer and no error."""
    return classified.kind == kinds.SEARCH and outcome.exit_code == 1 and outcome.chars == 0


def _keep_words(classified: Classification) -> None:
    """Make what the user said in place of a result a decision, which nothing replaces."""
    classified.kind, classified.error = kinds.DECISION, False
    classified.parts, classified.ran = [("call:refused", [])], [parts.UNSURE]
    classified.edits, classified.commits, classified.changes = (), False, []


def _keep_error(classified: Classification, operation: str, rules: Ruleset) -> None:
    """Preserve an error until its action succeeds; a failing command that its next run supersedes waits for that."""
    classified.edits = ()
    classified.commits = False
    classified.changes = []
    if operation in tools.SHELLS and "supersede" in rules.tier_rule(classified.tier).events:
        return
    classified.kind = kinds.ERROR
    classified.parts, classified.ran = [("error:" + classified.action, [])], [parts.ALWAYS]
    if rules.preserve_errors:
        classified.tier, classified.basis = "preserved", "an error"
