"""The hooks' modules in one file: loading thirty byte-code files one by one costs a hook a third of a bare start.

The pack lies where Python keeps their byte code anyway. A module is taken from it only while its source has the time and size that it was
packed with; a pack that is missing, foreign or unreadable is passed over, and the first hook that loads a module past it makes it again
(utils/packing.py). The next one notes for each module that it asks for which others came with it: from then on these are read with it,
share their strings with it, and run before it in the order in which they were done, so that its own imports find them there.

It stands beside the package `utils`, which is in the pack, too.
"""

import gc
import sys
from marshal import loads

try:
    import posix as os
except ImportError:
    import os  # type: ignore[no-redef]  # what a platform has in place of it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

_external = sys.modules["_frozen_importlib_external"]
HEADER = _external.MAGIC_NUMBER + b"popkit 8\n"
PACKAGE = "utils"
_FOLDER = __file__.rpartition("/")[0] + "/"
PATH = _FOLDER + PACKAGE + "/__pycache__/popkit." + (sys.implementation.cache_tag or "none") + ".pack"
_ModuleSpec = type(sys.__spec__)
_Module = type(sys)


class Pack:
    """A finder and loader of modules over {name: (mtime in ns, size, whether it is a package, names or None, begin, ends)}. From begin to
    the last of the ends, behind `start`, is the code of these names: of the modules that this one brings with it, and last its own. None
    where that has not been noted yet, and its own code is alone. The ends are those of pieces, each small enough for memory that is used
    again. `extensions`: {name: (path, mtime in ns, size)} of modules in C, which take longer to find than to load."""

    def __init__(self, entries: "dict[str, Any]", extensions: "dict[str, Any]", fd: int, start: int) -> None:
        self.entries = entries
        self.extensions = extensions
        self.fd = fd  # open while the hook runs: most hooks do not read half of the pack
        self.start = start
        self.unpacked = False  # a module of ours had to be loaded from its own file
        self.nested = False  # a module of the pack is being run
        self.done: list[str] = []  # names, in the order in which their modules were done
        self.brought: dict[str, tuple[str, ...]] = {}  # to be written into the next pack

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":  # noqa: ARG002  as finders are asked
        entry = self.entries.get(name)
        source = entry and source_of(name, entry[2])
        if not source or stamp_of(source) != entry[:2]:
            self.unpacked = self.unpacked or name.startswith(PACKAGE)
            return self.extension(name) if name in self.extensions else None
        # Not `has_location`: for such a spec Python finds out where byte code of its own would lie.
        spec = _ModuleSpec(name, self, origin=source, is_package=entry[2])  # type: ignore[arg-type]  # a Loader in all but its base class
        if entry[2]:
            spec.submodule_search_locations = [source.rpartition("/")[0]]
        return spec

    def extension(self, name: str) -> "ModuleSpec | None":
        """Return the spec of a module in C; None where it has changed, or is another interpreter's."""
        path, *stamp = self.extensions[name]
        if path.rpartition("/")[0] not in sys.path or stamp_of(path) != tuple(stamp):
            return None
        return _ModuleSpec(name, _external.ExtensionFileLoader(name, path), origin=path)

    def create_module(self, spec: "ModuleSpec") -> None:  # noqa: ARG002  the protocol of loaders
        return

    def exec_module(self, module: "ModuleType") -> None:
        """Run a module, and before it what it brings with it. That is noted of modules which no other module of the pack asks for."""
        name = module.__name__
        module.__file__ = module.__spec__.origin  # type: ignore[union-attr]  # that of `find_spec`
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
        parent, _, tail = name.rpartition(".")
        spec = self.find_spec(name) if name in self.entries and parent in sys.modules else None
        if spec is None:
            return
        module = _Module(name)
        module.__file__ = spec.origin
        module.__package__ = parent
        if spec.submodule_search_locations:
            module.__package__, module.__path__ = name, spec.submodule_search_locations
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)  # noqa: S102  the code of our own source
        except BaseException:
            del sys.modules[name]
            raise
        # Each import from the module asks whether it is being initialised; up to 3.11 one without this answer costs an error each time.
        spec._initializing = False  # type: ignore[attr-defined]  # noqa: SLF001
        module.__spec__ = spec
        setattr(sys.modules[parent], tail, module)
        self.done.append(name)

    def codes(self, name: str) -> "list[CodeType]":
        begin, ends = self.entries[name][4:]
        codes: list[CodeType] = []
        for end in ends:
            codes += loads(os.pread(self.fd, end - begin, self.start + begin))  # noqa: S302  the file is ours
            begin = end
        return codes


def use() -> None:
    """Put the pack in front of the other finders; an empty one where none can be read."""
    gc.disable()  # a hook is over before its garbage could matter
    entries, extensions, fd, start = {}, {}, -1, 0
    try:
        fd = os.open(PATH, os.O_RDONLY | os.O_CLOEXEC)
        entries, extensions, start = _opened(fd)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    sys.meta_path.insert(0, Pack(entries, extensions, fd, start))


def _opened(fd: int) -> "tuple[dict[str, Any], dict[str, Any], int]":
    """Return (entries, extensions, where the code begins) of a whole pack; ValueError for anything else. Behind the header: its whole
    length and that of its index."""
    begin = len(HEADER) + 16
    head = os.read(fd, begin)
    if not head.startswith(HEADER) or int.from_bytes(head[-16:-8], "big") != os.fstat(fd).st_size:
        raise ValueError("not a whole pack")
    index = int.from_bytes(head[-8:], "big")
    entries, extensions = loads(os.read(fd, index))  # noqa: S302  the file is ours
    for table, fields in ((entries, 6), (extensions, 3)):
        if not isinstance(table, dict) or {*map(type, table.values())} - {tuple} or {*map(len, table.values())} - {fields}:
            raise ValueError("not an index")
    return entries, extensions, begin + index


def outdated() -> "Pack | None":
    """Return the pack where it is to be made again: modules were loaded past it, or something was noted. None where it is not, or where
    byte code may not be written."""
    for finder in sys.meta_path:
        if isinstance(finder, Pack):
            return finder if (finder.unpacked or finder.brought) and not sys.dont_write_bytecode else None
    return None


def source_of(name: str, is_package: bool) -> str:
    """Return the path of a module's source."""
    return _FOLDER + name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


def stamp_of(path: str) -> "tuple[int, int] | None":
    """Return (mtime in ns, size) of a file; None where there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
