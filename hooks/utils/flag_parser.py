"""Parse the words of operations, for every command alike. What the user wrote wrong is a UsageError, which says what would be right."""

from __future__ import annotations

from .argument_types import Type
from .errors import PopkitError
from .operation_tables import ADMIN, HELP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .operation_tables import Flag, Operation, Table


class Words:
    """A line as understood: the operation, its `word` (name), typed `arguments`, and `flags`: key -> value, True for one that takes none.
    A flag is an attribute, too: None, or False for one that takes no value, where it was not given. `former`: the words that it was called
    by, where these are those of the version before."""

    __slots__ = ("_known", "arguments", "flags", "former", "operation", "word")

    def __init__(self, operation: Operation, arguments: list[Any], flags: dict[str, Any], known: Iterable[Flag] = ()) -> None:
        self.operation = operation
        self.word = operation.name
        self.arguments = arguments
        self.flags = flags
        self.former = ""
        self._known = {flag.key.replace("-", "_"): flag for flag in known}

    def __getattr__(self, name: str) -> Any:
        if name == "_known" or name not in self._known:
            raise AttributeError(name)
        flag = self._known[name]
        return self.flags.get(flag.key, None if flag.type else False)

    @property
    def argument(self) -> Any:
        """Return the first argument, None where there is none."""
        return self.arguments[0] if self.arguments else None


class UsageError(PopkitError):
    """Something that the user wrote is not known; the message says what is."""


def parse(words: list[str], table: Table, shell: bool = True) -> Words:
    """Return a line's words as understood; UsageError for what is not known. `shell`: flags that work in a shell alone are known."""
    words = ["--help" if word == "-h" else word for word in words]
    words, former = _current(words, table)
    parsed = _parsed(words, table, shell)
    parsed.former = former
    return parsed


def renaming(former: str, current: str) -> str:
    """Return the sentence on what a command was called in the version before."""
    return f"`{former}` is now `{current}`. The old name works until the next version."


def _current(words: list[str], table: Table) -> tuple[list[str], str]:
    """Return (the words, one of the version before replaced; that one, "" for none)."""
    own = _own(words)
    for old, new in table.renamed.items():
        at = own.index(old) if old in own else -1
        if at >= 0 and (old[:1] == "-" or at == next(_places(own, table), -1)):
            return [*new.split(), *words[:at], *words[at + 1 :]], old
    return words, ""


def _parsed(words: list[str], table: Table, shell: bool) -> Words:
    operation, name, rest = chosen(words, table, shell)
    if operation.raw:
        return Words(operation, rest, {})
    known = table.flags_of(operation, shell)
    arguments: list[str] = []
    flags: dict[str, Any] = {}
    while rest:
        item = rest.pop(0)
        if item == "--":
            arguments += rest
            break
        if not _is_flag(item):
            arguments.append(item)
            continue
        flag_name, equals, value = item.partition("=")
        if flag_name not in known:
            raise _unknown_flag(flag_name, operation, table, shell)
        flag = known[flag_name]
        if not flag.type:
            if equals:
                raise UsageError(f"{flag_name} takes no value")
            flags[flag.key] = True
            continue
        if not equals and not rest:
            raise UsageError(f"{flag_name} needs a value: {flag.usage}")
        values = [value if equals else rest.pop(0)]
        while flag.many and rest and not _is_flag(rest[0]):
            values.append(rest.pop(0))
        read = [_read(flag_name, flag.type, each) for each in values]
        flags[flag.key] = [*flags.get(flag.key, ()), *read] if flag.many else read[-1]
    if "help" in flags or name == ADMIN:
        return Words(HELP, [name] if name else [], {})
    _check(operation, arguments, flags, table)
    if operation.joined and arguments:
        arguments = [" ".join(arguments)]
    arguments = [_read(table.called(operation), operation.type, each) for each in arguments]
    defaults = {flag.key: flag.default for flag in known.values() if flag.default is not None}
    return Words(operation, arguments, {**defaults, **flags}, known.values())


def chosen(words: list[str], table: Table, shell: bool = True) -> tuple[Operation, str, list[str]]:
    """Return the operation that is meant, the words that name it, and all other words; UsageError where none is meant."""
    own = _own(words)
    for operation in table.operations:
        if operation.name[:1] == "-" and operation.name in own:
            at = words.index(operation.name)
            return operation, operation.name, words[:at] + words[at + 1 :]
    places = list(_places(own, table))[:2]
    for count in range(len(places), -1, -1):
        name = " ".join(words[at] for at in places[:count])
        operation_named = table.by_name.get(name)
        if operation_named is None or (count == 1 and len(places) > 1 and operation_named.called != name):
            continue  # where a word follows that it implies, that one has to be known
        if count or not places or (operation_named.name == "" and (operation_named.label or len(table.operations) == 1)):
            return operation_named, name, [word for at, word in enumerate(words) if at not in places[:count]]
    if not places and "--help" in words:
        return HELP, "", []
    if [words[at] for at in places] == [ADMIN] and table.group(ADMIN):
        return HELP, ADMIN, [word for word in words if word != ADMIN]
    if places and (flag := _misspelt(own[: places[0]], table)):
        raise _unknown_flag(flag.partition("=")[0], table.by_name.get("", table.operations[0]), table, shell)
    raise _unknown_word([words[at] for at in places], table)


def _misspelt(words: list[str], table: Table) -> str:
    """Return the first flag that no operation has: the word behind it may be its value; "" for none."""
    known = {"--help", *(flag.name for operation in table.operations for flag in (*operation.flags, *table.common))}
    return next((word for word in words if _is_flag(word) and word.partition("=")[0] not in known), "")


def _own(words: list[str]) -> list[str]:
    """Return the words before `--`, after which all are arguments."""
    return words[: words.index("--")] if "--" in words else words


def _places(words: list[str], table: Table) -> Iterator[int]:
    """Yield the places of words that are neither flags nor their values."""
    valued = {flag.name for operation in table.operations for flag in (*operation.flags, *table.common) if flag.type}
    follows = False
    for at, word in enumerate(words):
        if not follows and not _is_flag(word):
            yield at
        follows = not follows and word in valued


def _is_flag(word: str) -> bool:
    return word[:1] == "-" and word != "-"


def _read(what: str, type: Type, word: str) -> Any:
    try:
        return type.read(word)
    except ValueError:
        if answer := _gone(what, word):
            raise UsageError(answer) from None
        raise UsageError(f"{what} takes {type.expected()}, not {_quoted(word)}{nearest(word, type.known)}") from None


def _check(operation: Operation, arguments: list[str], flags: dict[str, Any], table: Table) -> None:
    name = table.called(operation)
    if len(arguments) < operation.least:
        if operation.type.known:
            raise UsageError(f"{name} needs {operation.type.expected()}")
        example = table.examples.get(operation.label.strip("[]…"))
        raise UsageError(f"{name} needs {operation.label}" + (f", for example: {name} {example}" if example else ""))
    if len(arguments) > operation.most:
        extra = " ".join(map(_quoted, arguments[operation.most :]))
        raise UsageError(f"{name} takes {f'only {operation.label}' if operation.label else 'no arguments'}, so {extra} is too much")
    for flag in operation.flags:
        if flag.needed and flag.key not in flags:
            raise UsageError(f"{name} needs {flag.usage}: {flag.explained()}")


def _unknown_word(words: list[str], table: Table) -> UsageError:
    group = table.group(words[0]) if words else []
    names = [operation.name for operation in group or table.operations if operation.name and (group or not operation.admin)]
    names += [ADMIN] if table.group(ADMIN) and not group else []
    if not words:
        return UsageError(f"{table.name.rpartition(' ')[2]} needs a word: {', '.join(names[:-1])} or {names[-1]}")
    below = bool(group) and words[0] == ADMIN
    word = " ".join(words) if group else words[0]
    if answer := _gone(table.name, word):
        return UsageError(answer)
    known = dict.fromkeys(names, "") if group else {**dict.fromkeys(names, ""), **table.renamed}
    meant = _closest(words[-1] if below else word, known)
    question = f" (did you mean {known[meant] or meant}?)" if meant else ""
    return UsageError(f"unknown word {_quoted(word)}{question}. Known{' after admin' if below else ''}: {', '.join(names)}")


def operations_of(name: str, table: Table) -> list[Operation]:
    """Return the operation of a name, or those that its word begins; UsageError listing the known ones for another name."""
    name = table.renamed.get(name, name)
    operations = table.group(name) or [operation for operation in table.operations if name == operation.called]
    if not operations:
        raise _unknown_word(name.split() or [""], table)
    return operations


def _unknown_flag(word: str, operation: Operation, table: Table, shell: bool) -> UsageError:
    if not shell and any(word == flag.name for flag in (*table.common, *operation.flags)):
        return UsageError(f"{word} works only in a shell ({table.name} …)")
    if answer := _gone(table.name, word):
        return UsageError(answer)
    name, known = table.called(operation), table.flags_of(operation, shell)
    knows = f"{name} knows {', '.join(flag.usage for flag in known.values())}"
    at_home = [table.called(other) for other in table.operations if any(flag.name == word for flag in other.flags)]
    if at_home:
        return UsageError(f"{word} belongs to {' and '.join(at_home)}, not to {name}. {knows}")
    return UsageError(f"unknown flag {_quoted(word)}{nearest(word, known)}. {knows}")


def _gone(what: str, word: str) -> str:
    from .config import gone  # only for an error

    return gone.word(what, word)


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the question whether a name that is much like a word was meant; "" where none is."""
    meant = _closest(word, names)
    return f" (did you mean {meant}?)" if meant else ""


def _closest(word: str, names: Iterable[str]) -> str:
    import difflib  # only for an error

    return next(iter(difflib.get_close_matches(word[:60].lower(), [name.lower() for name in names], 1)), "")


def _quoted(text: str) -> str:
    return '"' + (text if len(text) <= 40 else text[:39] + "…") + '"'
