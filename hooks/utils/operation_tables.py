"""Describe the operations of a command: a Table of Operations with their Flags.

The parser goes by it, and help, completion, documents and the schemas of tools come from it.
"""

from __future__ import annotations

from .argument_types import TEXT, Type, choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READS, CHANGES, DESTROYS = "reads", "changes", "destroys"  # what an operation does; DESTROYS: asked for twice
MANY = 10_000  # arguments: what a shell can give


class Flag:
    """A flag. `usage` is how it is written: its `name`, and the `label` of the value that follows it, if one does. `type`: of that value,
    None for a flag without a value. `many`: every word up to the next flag is a value. `default`: its value where it is not given.
    `needed`: it has to be given. `shell_only`: a session does not have it. `agent`: the name and type that tools of agents have for it."""

    __slots__ = ("agent", "default", "help", "key", "label", "many", "name", "needed", "shell_only", "type", "usage")

    def __init__(
        self, usage: str, help: str, type: Type | None = None, default: object = None, many: bool = False, needed: bool = False,
        shell_only: bool = False, agent: tuple[str, Type] | None = None,
    ) -> None:  # fmt: skip
        self.usage = usage
        self.name, _, self.label = usage.partition(" ")
        self.key = self.name[2:]
        self.help = help
        self.type = type or (_type_of(self.label) if self.label else None)
        self.default = default
        self.many = many
        self.needed = needed
        self.shell_only = shell_only
        self.agent = agent

    def explained(self) -> str:
        """Return its meaning, the values that it takes and its default."""
        known = f": {self.type.expected()}" if self.type and self.type.known and "|" not in self.label else ""
        return self.help + known + (f" (default: {self.default})" if self.default else "")


class Operation:
    """An operation. `usage` is how it is written: its `name`, and the `label` of its arguments. The name is a word or two, "" where the
    command alone means it, or a flag that tells it from the command's own; `ID` means one argument, `ID…` several, `[ID]` that there need
    be none. `help` says what it does, "" where the title of the command does; `more` what follows that sentence. `type`: of its arguments;
    `joined`: they are one text; `agent`: see Flag. `implied`: it is meant where the last word of its name is missing. `raw`: its words are
    another command's to parse. `does`: its function, by name (see Table). `offered`: the pane and the page have it on their buttons.
    `admin`: it is called by its name after ADMIN, as few people need it. `hidden`: a program calls it."""

    __slots__ = (
        "admin", "agent", "does", "effect", "flags", "help", "hidden", "implied", "joined", "label", "least", "more", "most", "name",
        "offered", "raw", "type",
    )  # fmt: skip

    def __init__(
        self, usage: str, help: str = "", *flags: Flag, effect: str = READS, type: Type | None = None, joined: bool = False,
        agent: tuple[str, Type] | None = None, implied: bool = False, raw: bool = False, offered: bool = False, admin: bool = False,
        more: str = "", does: str = "", hidden: bool = False,
    ) -> None:  # fmt: skip
        words = usage.split(" ")
        self.label = words.pop() if words[-1][:1] == "[" or "|" in words[-1] or not words[-1].islower() else ""
        self.name = " ".join(words)
        self.least = int(self.label[:1] not in ("", "["))
        self.most = MANY if joined or "…" in self.label else int(self.label != "")
        self.help = help
        self.flags = flags
        self.effect = effect
        self.type = type or _type_of(self.label.strip("[]"))
        self.joined = joined
        self.agent = agent
        self.implied = implied
        self.raw = raw
        self.offered = offered
        self.admin = admin
        self.more = more
        self.does = does
        self.hidden = hidden

    @property
    def called(self) -> str:
        """Return the words that call it."""
        return f"{ADMIN} {self.name}" if self.admin else self.name

    def usage(self, called: str | None = None) -> str:
        """Return its usage, with the flags that are required. `called`: its name there (default: the words that call it)."""
        name = self.called if called is None else called
        return " ".join(filter(None, (name, self.label, *(flag.usage for flag in self.flags if flag.needed))))


def _type_of(label: str) -> Type:
    """Return the type of what a label names: one of its words, where it consists of these, else any text."""
    return choice(*label.split("|")) if "|" in label and label.islower() else TEXT


class Table:
    """The operations of a command. `name`: how it is called; `title`: what it is for; `module`: whose functions its operations
    name, unless they name another's as module:function; `common`: flags of every operation but help;
    `examples`: label -> such an argument; `notes`: label -> what it means, "" -> what holds without the common flags; `renamed`: a word
    that called an operation in the version before -> those that do; what is below ADMIN was called by its name alone."""

    __slots__ = ("by_name", "common", "examples", "module", "name", "notes", "operations", "renamed", "title")

    def __init__(
        self, name: str, title: str, *operations: Operation, common: tuple[Flag, ...] = (), examples: dict[str, str] | None = None,
        notes: dict[str, str] | None = None, renamed: dict[str, str] | None = None, module: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.title = title
        self.module = module
        self.renamed = {**{operation.name: operation.called for operation in operations if operation.admin}, **(renamed or {})}
        named = any(operation.name[:1] not in ("", "-") for operation in operations)
        self.operations = (*operations, HELP) if named else operations
        self.common = common
        self.examples = examples or {}
        self.notes = notes or {}
        self.by_name = {operation.called: operation for operation in self.operations}
        for operation in operations:
            if operation.implied:
                self.by_name[operation.called.rpartition(" ")[0]] = operation

    def function(self, operation: Operation) -> Callable[..., Any]:
        """Return the function of an operation; its module is loaded now."""
        from sys import modules

        place, _, name = operation.does.rpartition(":")
        __import__(place or self.module)
        function: Callable[..., Any] = getattr(modules[place or self.module], name)
        return function

    def flags_of(self, operation: Operation, shell: bool = True) -> dict[str, Flag]:
        """Return name -> Flag of everything that may follow an operation."""
        common = () if operation.raw or operation is HELP else self.common
        return {flag.name: flag for flag in (*operation.flags, *common, _HELP_FLAG) if shell or not flag.shell_only}

    def group(self, word: str) -> list[Operation]:
        """Return the operations whose names begin with a word and go on."""
        return [operation for operation in self.operations if operation.called.startswith(word + " ")]

    def called(self, operation: Operation) -> str:
        """Return what messages call an operation."""
        own = self.name.rpartition(" ")[2]
        return f"{own} {operation.name}" if operation.name[:1] == "-" else operation.called or own


ADMIN = "admin"
HELP = Operation("help [WORD]", "this text, or help for one word", joined=True, does="help_answer")
_HELP_FLAG = Flag("--help", "this text")
