"""Write the text of MEMORY.md: its entries under titles, paths as a tree. Pure. `memory_reading` reads such a text; a session's start does
not need that, and so loads no `re`.
"""

from __future__ import annotations

from ..policy.estimate import CHARS_PER_TOKEN, estimate_tokens
from .memory_records import COMMAND, CONTENT, ERROR, NAME, NOTE, PATH, PURPOSES, Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

HEAD = "# Project memory\n"
MARK = "*"  # behind a file that has changed
LEGEND = f"Files marked {MARK} have changed since earlier sessions.\n"
# In the order in which they are listed; NOTE is where an item of any other kind is listed, too.
TITLES = {
    COMMAND: "Commands",
    PATH: "Files",
    ERROR: "Errors and fixes",
    NOTE: "Notes",
    NAME: "Names",
}
WITH_NAMES = " (names defined in them)"  # after the title of the files, where names are listed
FENCES = {PATH: "```", NAME: "```", COMMAND: "```sh"}
IN_FOLDER = "# in "  # before a folder, on a line above the commands that run there
ESCAPE = "\\"  # before a command that begins so itself, and in a quoted name
MOVE, THEN = "cd ", " && "
# A name that would be read as a group, as several files or as one with names behind it is put in quotes.
_IN_FILES, _IN_FOLDERS = frozenset('{}(),"' + ESCAPE + MARK), frozenset('{}"')
# Files of a folder are written together as a shell has it, {cart{,.test},till}.ts, where that saves at least this many characters.
LEAST_SAVED = 2


def size(text: str) -> float:
    """Return the characters that a text counts for: wide ones cost more."""
    return len(text) if text.isascii() else estimate_tokens(text, CONTENT) * CHARS_PER_TOKEN[CONTENT]


def render(entries: Iterable[Entry]) -> str:
    """Return MEMORY.md with these entries, "" for none. Names follow their file where that is listed too."""
    by_kind: dict[str, list[Entry]] = {kind: [] for kind in TITLES}
    entries = list(entries)
    files = {entry.path for entry in entries if entry.kind == PATH}
    inside: dict[str, list[str]] = {}
    for entry in entries:
        if entry.kind == NAME and entry.home in files:
            inside.setdefault(entry.home, []).append(entry.text)
        else:
            by_kind[entry.kind].append(entry)
    parts = [HEAD + (LEGEND if any(entry.changed for entry in by_kind[PATH]) else "")] if entries else []
    for kind, listed in by_kind.items():
        if listed:
            fence = FENCES.get(kind)
            lines = _LINES[kind](listed, inside)
            title = TITLES[kind] + (WITH_NAMES if kind == PATH and inside else "")
            parts.append("\n".join([f"\n## {title}", *([fence] if fence else []), *lines, *(["```"] if fence else []), ""]))
    return "".join(parts)


def folders_above(folders: Iterable[str]) -> set[str]:
    """Return the folders that have a line of their own in a tree: those given, and those in which several of its branches begin."""
    known = set(folders)
    branches: dict[str, set[str]] = {}
    for folder in known:
        names = folder.split("/")
        for depth in range(1, len(names)):
            branches.setdefault("/".join(names[:depth]), set()).add(names[depth])
    return known | {folder for folder, below in branches.items() if len(below) > 1}


def _tree(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    files: dict[str, dict[str, str]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.home, entry.text)):
        names = inside.get(entry.path)
        shown = _quoted(entry.text, _IN_FILES) + (MARK if entry.changed else "")
        files.setdefault(entry.home, {})[shown] = f" ({', '.join(sorted(names))})" if names else ""
    lines, above = [], [""]
    for folder in sorted(folders_above(files), key=lambda folder: folder.split("/")):
        while above[-1] and not folder.startswith(above[-1] + "/"):
            above.pop()
        name = _quoted(folder[len(above[-1]) + 1 :] if above[-1] else folder or ".", _IN_FOLDERS)
        lines.append(" " * (len(above) - 1) + name + "/" + (f": {', '.join(_grouped(files[folder]))}" if folder in files else ""))
        above += [folder] if folder else []
    return lines


def _grouped(files: dict[str, str]) -> list[str]:
    """Return the files of a folder, sorted, those that share an ending together; a file with names behind it is in no group."""
    plain = [file for file, names in files.items() if not (names or any(char in file for char in '{},() "'))]
    ways = (_by_ending(plain, lambda file: {file.find(".", 1), file.rfind(".", 1)}), _by_ending(plain, lambda file: {file.rfind(".", 1)}))
    others = [file + names for file, names in files.items() if file not in set(plain)]
    return sorted([*others, *min(ways, key=lambda way: sum(map(len, way)) + 2 * len(way))], key=lambda text: text.lstrip("{"))


def _by_ending(files: list[str], cuts: Callable[[str], set[int]]) -> list[str]:
    """Return files, those that share an ending, which begins at one of the `cuts` of each, together; the longest endings first."""
    groups: dict[str, list[str]] = {}
    for file in files:
        for at in cuts(file) - {-1}:
            groups.setdefault(file[at:], []).append(file)
    left, listed = set(files), []
    for ending in sorted(groups, key=len, reverse=True):
        some = [file for file in groups[ending] if file in left]
        stems = _with_variants([file[: -len(ending)] for file in some])
        text = (stems[0] if len(stems) == 1 else f"{{{','.join(stems)}}}") + ending
        if sum(len(file) + 2 for file in some) - len(text) - 2 >= LEAST_SAVED:
            left -= set(some)
            listed.append(text)
    return [*listed, *left]


def _with_variants(stems: list[str]) -> list[str]:
    """Return the names of files without their ending, sorted, variants of one behind it: `cart{,.test}`."""
    left = set(stems)
    variants: dict[str, list[str]] = {}
    for stem in stems:
        for at in variant_of(stem, left):
            variants.setdefault(stem[:at], []).append(stem)
    listed = []
    for stem in sorted(variants, key=lambda stem: len(stem) * len(variants[stem]), reverse=True):
        some = [each for each in variants[stem] if each in left]
        if stem in left and len(stem) * len(some) - 2 >= LEAST_SAVED:
            left -= {stem, *some}
            listed.append(f"{stem}{{,{','.join(sorted(each[len(stem) :] for each in some))}}}")
    return sorted([*listed, *left], key=lambda text: text.partition("{")[0])


def variant_of(stem: str, others: Collection[str]) -> list[int]:
    """Return where a name goes on behind the whole of another one and a new word begins, as in `cart.test` and `CartItem`."""
    return [
        at
        for at in range(2, len(stem))
        if stem[:at] in others and (not stem[at].isalnum() or (stem[at].isupper() and not stem[at - 1].isupper()))
    ]


def ending_of(file: str) -> tuple[str, str]:
    """Return the name of a file without its ending, and the ending with its dot; ("", the name) for one without."""
    stem, dot, ending = file.rpartition(".")
    return stem, dot + ending


def _quoted(name: str, signs: frozenset[str]) -> str:
    """Return a name, in quotes where it has any of these signs."""
    if signs.isdisjoint(name):
        return name
    return '"' + name.replace(ESCAPE, ESCAPE * 2).replace('"', ESCAPE + '"') + '"'


def _commands(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    """Return lines of commands in the order of what they are for, and after them those that share a folder, below its name."""
    order = {purpose: place for place, purpose in enumerate(PURPOSES)}
    texts = [entry.text for entry in sorted(entries, key=lambda entry: (order.get(entry.home, len(order)), entry.text))]
    folders = [folder_of(text)[0] for text in texts]
    shared = sorted({folder for folder in folders if folder and folders.count(folder) > 1})
    lines = [_escaped(text) for text, folder in zip(texts, folders) if folder not in shared]
    for folder in shared:
        lines += [IN_FOLDER + folder, *(_escaped(folder_of(text)[1]) for text, of in zip(texts, folders) if of == folder)]
    return lines


def _escaped(command: str) -> str:
    """Return a command as its line has it: one that begins like the line of a folder is none."""
    return ESCAPE + command if looks_like_folder(command) else command


def looks_like_folder(line: str) -> bool:
    return line.lstrip(ESCAPE).startswith(IN_FOLDER)


def folder_of(command: str) -> tuple[str, str]:
    """Return (the folder that a command changes to first, the command it runs there); ("", the command) for one that stays at the top."""
    move, then, rest = command.partition(THEN)
    folder = move[len(MOVE) :]
    return (folder, rest) if then and command.startswith(MOVE) and " " not in folder else ("", command)


def _names(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    by_file: dict[str, list[str]] = {}
    for entry in entries:
        by_file.setdefault(entry.home, []).append(entry.text)
    return [(f"{home}: " if home else "") + ", ".join(sorted(names)) for home, names in sorted(by_file.items())]


def _bullets(entries: list[Entry], inside: dict[str, list[str]]) -> list[str]:
    return sorted(f"- {entry.text}" for entry in entries)


_LINES = {COMMAND: _commands, PATH: _tree, ERROR: _bullets, NOTE: _bullets, NAME: _names}
