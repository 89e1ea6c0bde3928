"""The hooks' modules in one file: finding, opening and checking thirty byte-code files, and what an `import` does besides running the
module, cost a hook a third of a bare start.

The pack lies where Python keeps the byte code of these modules anyway. A module is taken from it only while its
source has the time and size that it was packed with; a pack that is missing, foreign or unreadable is passed over, and the first hook
that had to load a module past it makes it again. The next one notes for each module that it asks for which others came with it: from then
on these are read with it in one piece, in which they share their strings, and run before it in the order in which they were done, so that
its own imports find them there.
"""

import gc
import sys
from marshal import dumps, loads

try:
    import posix as os
except ImportError:
    import os  # type: ignore[no-redef]  # what a platform has in place of it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

_external = sys.modules["_frozen_importlib_external"]
_HEADER = _external.MAGIC_NUMBER + b"popkit 6\n"
_FOLDER = __file__.rpartition("/")[0] + "/__pycache__"
_PATH = _FOLDER + "/popkit." + (sys.implementation.cache_tag or "none") + ".pack"
_PACKAGE = __name__.partition(".")[0]
_FUTURE = b"\nfrom __future__ import annotations\n"
_ModuleSpec = type(sys.__spec__)
_Module = type(sys)


class Pack:
    """A finder and loader of modules over {name: (source, [mtime in ns, size], whether it is a package, names or None, begin, end)}. From
    begin to end, behind `start`, is the code of these names in one piece: of the modules that this one brings with it, and last its own.
    None where that has not been noted yet, and its own code is alone."""

    __slots__ = ("brought", "done", "entries", "fd", "nested", "start", "unpacked")

    def __init__(self, entries: "dict[str, Any]", fd: int, start: int) -> None:
        self.entries = entries
        self.fd = fd  # open while the hook runs: most hooks do not read half of the pack
        self.start = start
        self.unpacked = False  # a module of ours had to be loaded from its own file
        self.nested = False  # a module of the pack is being run
        self.done: list[str] = []  # names, in the order in which their modules were done
        self.brought: dict[str, tuple[str, ...]] = {}  # to be written into the next pack

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":  # noqa: ARG002  as finders are asked
        entry = self.entries.get(name)
        if entry is None or _stamp(entry[0]) != entry[1]:
            self.unpacked = self.unpacked or name.startswith(_PACKAGE)
            return None
        spec = _ModuleSpec(name, self, origin=entry[0], is_package=entry[2])  # type: ignore[arg-type]  # a Loader in all but its base class
        spec.has_location = True
        if entry[2]:
            spec.submodule_search_locations = [entry[0].rpartition("/")[0]]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:  # noqa: ARG002  the protocol of loaders
        return

    def exec_module(self, module: "ModuleType") -> None:
        """Run a module, and before it what it brings with it. That is noted of modules which no other module of the pack asks for."""
        name = module.__name__
        before, names, first = len(self.done), self.entries[name][3], not self.nested
        self.nested = True
        *codes, own = self.codes(name)
        for other, code in zip(names or (), codes):
            if other not in sys.modules:
                self.bring(other, code)
        exec(own, module.__dict__)  # noqa: S102  the code of our own source
        self.done.append(name)
        if first:
            self.nested = False
            if names is None:
                self.brought[name] = tuple(self.done[before:])

    def bring(self, name: str, code: "CodeType") -> None:
        """Run a module without the ceremony of an import; one that is not right is left to the import that asks for it."""
        entry = self.entries.get(name)
        parent, _, tail = name.rpartition(".")
        if entry is None or parent not in sys.modules or _stamp(entry[0]) != entry[1]:
            return
        module = _Module(name)
        module.__file__ = entry[0]
        module.__package__ = parent
        if entry[2]:
            module.__package__, module.__path__ = name, [entry[0].rpartition("/")[0]]
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)  # noqa: S102  the code of our own source
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[parent], tail, module)
        self.done.append(name)

    def codes(self, name: str) -> "list[CodeType]":
        begin, end = self.entries[name][4:]
        return loads(os.pread(self.fd, end - begin, self.start + begin))  # noqa: S302  the file is ours


def use() -> None:
    """Put the pack in front of the other finders; an empty one where none can be read."""
    gc.disable()  # a hook is over before its garbage could matter
    entries: dict[str, Any] = {}
    fd, start = -1, 0
    try:
        fd = os.open(_PATH, os.O_RDONLY | os.O_CLOEXEC)
        entries, start = _opened(fd)
    except (OSError, ValueError, EOFError, TypeError):
        entries = {}
    sys.meta_path.insert(0, Pack(entries, fd, start))


def _opened(fd: int) -> "tuple[dict[str, Any], int]":
    """Return (entries, where the code begins) of a whole pack; ValueError for anything else. Behind the header: its whole length and that
    of its index."""
    begin = len(_HEADER) + 16
    head = os.read(fd, begin)
    if not head.startswith(_HEADER) or int.from_bytes(head[-16:-8], "big") != os.fstat(fd).st_size:
        raise ValueError("not a whole pack")
    index = int.from_bytes(head[-8:], "big")
    entries = loads(os.read(fd, index))  # noqa: S302  the file is ours
    if not isinstance(entries, dict) or not all(isinstance(entry, tuple) and len(entry) == 6 for entry in entries.values()):
        raise ValueError("not an index")
    return entries, begin + index


def remake() -> None:
    """Write the pack again where modules were loaded past it, or something was noted. Does nothing where byte code may not be written."""
    pack = next((finder for finder in sys.meta_path if isinstance(finder, Pack)), None)
    if pack is None or not (pack.unpacked or pack.brought) or sys.dont_write_bytecode:
        return
    temporary = f"{_PATH}.{os.getpid()}"
    # Before compiling, which would be wasted with each call if this fails.
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    try:
        data = _packed(pack)
        whole = os.write(fd, data) == len(data)
    finally:
        os.close(fd)
    if whole:
        os.replace(temporary, _PATH)
    else:  # the disk is full
        os.unlink(temporary)


def _packed(pack: Pack) -> bytes:
    """Return the bytes of a pack of what the old one still has right and of what was loaded past it. Where something was, the notes on
    which module brings which are made again."""
    known: dict[str, Any] = {}
    codes: dict[str, CodeType] = {}
    for name, entry in pack.entries.items():
        if _stamp(entry[0]) == entry[1]:
            known[name] = (*entry[:3], None if pack.unpacked else pack.brought.get(name, entry[3]))
            codes[name] = pack.codes(name)[-1]
    for name, module in list(sys.modules.items()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if name.partition(".")[0] == _PACKAGE and isinstance(loader, _external.SourceFileLoader):
            source = loader.path
            known[name] = (source, _stamp(source), hasattr(module, "__path__"), None)
            codes[name] = _compiled(loader.get_data(source), source)
    entries: dict[str, Any] = {}
    pieces, at = [], 0
    for name, (*entry, names) in known.items():
        names = names and tuple(other for other in names if other in codes)
        piece = dumps([codes[other] for other in names or (name,)])
        entries[name] = (*entry, names, at, at + len(piece))
        pieces.append(piece)
        at += len(piece)
    index = dumps(entries)
    length = len(_HEADER) + 16 + len(index) + at
    return b"".join((_HEADER, length.to_bytes(8, "big"), len(index).to_bytes(8, "big"), index, *pieces))


def _compiled(text: bytes, source: str) -> "CodeType":
    """Return the code of a module without docstrings and annotations of functions, and with the future statement as a flag: as an import it
    is one more file to find."""
    import __future__

    import _ast

    flag = __future__.annotations.compiler_flag if _FUTURE in text else 0
    tree = compile(text.replace(_FUTURE, b"\n\n", 1), source, "exec", flag | _ast.PyCF_ONLY_AST, dont_inherit=True)
    _strip(tree.body, _ast.FunctionDef)
    return compile(tree, source, "exec", flag, dont_inherit=True, optimize=2)


def _strip(statements: "Iterable[Any]", function: "type[Any]") -> None:
    """Take the annotations off every function among statements and below them."""
    for node in statements:
        if isinstance(node, function):
            node.returns = None
            of = node.args
            for arg in (*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg):
                if arg:
                    arg.annotation = None
        for below in ("body", "orelse", "handlers", "finalbody"):
            _strip(getattr(node, below, ()), function)


def _stamp(path: str) -> "list[int] | None":
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size]
