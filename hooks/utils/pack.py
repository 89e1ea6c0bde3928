"""The hooks' modules in one file: finding, opening and checking thirty byte-code files, and what an `import` does besides running the
module, cost a hook a third of a bare start.

The pack lies where Python keeps the byte code of these modules anyway. A module is taken from it only while its
source has the time and size that it was packed with; a pack that is missing, foreign or unreadable is passed over, and the first hook
that had to load a module past it makes it anew. The next one notes for each module which others it brought with it: from then on these
are run before it, in the order in which they were done, and its own imports find them there.
"""

import gc
import sys
from marshal import dumps, loads

try:
    import posix as os
except ImportError:
    import os

_external = sys.modules["_frozen_importlib_external"]
_HEADER = _external.MAGIC_NUMBER + b"popkit 5\n"
_FOLDER = __file__.rpartition("/")[0] + "/__pycache__"
_PATH = _FOLDER + "/popkit." + (sys.implementation.cache_tag or "none") + ".pack"
_PACKAGE = __name__.partition(".")[0]
_FUTURE = b"\nfrom __future__ import annotations\n"
_ModuleSpec = type(sys.__spec__)
_Module = type(sys)


class Pack:
    """A finder and loader of modules over {name: (source, [mtime in ns, size], whether it is a package, the names that it brings with it
    or None where that has not been noted yet, begin, end)}; the last two say where in the file the code stands, behind `start`."""

    __slots__ = ("brought", "done", "entries", "fd", "missed", "start")

    def __init__(self, entries, fd, start):
        self.entries = entries
        self.fd = fd  # open as long as the hook runs: half of what is packed most of them do not read
        self.start = start
        self.missed = False  # a module of ours had to be loaded from its own file
        self.done = []  # names, in the order in which their modules were done
        self.brought = {}  # what was noted now

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002  the protocol of finders
        entry = self.entries.get(name)
        if entry is None or _stamp(entry[0]) != entry[1]:
            self.missed = self.missed or name.startswith(_PACKAGE)
            return None
        spec = _ModuleSpec(name, self, origin=entry[0], is_package=entry[2])
        spec.has_location = True
        if entry[2]:
            spec.submodule_search_locations.append(entry[0].rpartition("/")[0])
        return spec

    def create_module(self, spec):  # noqa: ARG002  the protocol of loaders
        return None

    def exec_module(self, module):
        name = module.__name__
        before, brings = len(self.done), self.entries[name][3]
        for other in brings or ():
            if other not in sys.modules:
                self.bring(other)
        exec(loads(self.code(name)), module.__dict__)  # noqa: S102, S302  the code of our own source
        if brings is None:
            self.brought[name] = tuple(self.done[before:])
        self.done.append(name)

    def bring(self, name):
        """Runs a module without the ceremony of an import; one that is not right is left to the import that asks for it."""
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
            exec(loads(self.code(name)), module.__dict__)  # noqa: S102, S302  the code of our own source
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[parent], tail, module)
        self.done.append(name)

    def code(self, name):
        begin, end = self.entries[name][4:]
        return os.pread(self.fd, end - begin, self.start + begin)


def use():
    """Puts the pack in front of the other finders; an empty one where none can be read."""
    gc.disable()  # a hook is over before its garbage could matter
    entries, fd, start = {}, -1, 0
    try:
        fd = os.open(_PATH, os.O_RDONLY | os.O_CLOEXEC)
        entries, start = _opened(fd)
    except (OSError, ValueError, EOFError, TypeError):
        entries = {}
    sys.meta_path.insert(0, Pack(entries, fd, start))


def _opened(fd):
    """(entries, where the code begins) of a whole pack; ValueError for anything else. Behind the header: its whole length and that of its
    index."""
    begin = len(_HEADER) + 16
    head = os.read(fd, begin)
    if not head.startswith(_HEADER) or int.from_bytes(head[-16:-8], "big") != os.fstat(fd).st_size:
        raise ValueError("not a whole pack")
    index = int.from_bytes(head[-8:], "big")
    entries = loads(os.read(fd, index))  # noqa: S302  the file is ours
    if not isinstance(entries, dict) or not all(isinstance(entry, tuple) and len(entry) == 6 for entry in entries.values()):
        raise ValueError("not an index")
    return entries, begin + index


def remake():
    """Writes the pack anew where modules were loaded past it, or something was noted. Does nothing where byte code may not be written."""
    pack = next((finder for finder in sys.meta_path if isinstance(finder, Pack)), None)
    if pack is None or not (pack.missed or pack.brought) or sys.dont_write_bytecode:
        return
    temporary = f"{_PATH}.{os.getpid()}"
    # First of all: where this fails, compiling would be in vain with every call.
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


def _packed(pack):
    """The bytes of a pack of what the old one still has right and of what was loaded past it. Where something was, what brings what has to
    be noted again."""
    known = {}
    for name, entry in pack.entries.items():
        if _stamp(entry[0]) == entry[1]:
            brings = None if pack.missed else pack.brought.get(name, entry[3])
            known[name] = (*entry[:3], brings, pack.code(name))
    for name, module in list(sys.modules.items()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if name.partition(".")[0] == _PACKAGE and isinstance(loader, _external.SourceFileLoader):
            source = module.__file__
            known[name] = (source, _stamp(source), hasattr(module, "__path__"), None, dumps(_compiled(loader.get_data(source), source)))
    entries, codes, at = {}, [], 0
    for name, (*entry, code) in known.items():
        entries[name] = (*entry, at, at + len(code))
        codes.append(code)
        at += len(code)
    index = dumps(entries)
    length = len(_HEADER) + 16 + len(index) + at
    return b"".join((_HEADER, length.to_bytes(8, "big"), len(index).to_bytes(8, "big"), index, *codes))


def _compiled(text, source):
    """The code of a module without docstrings, and with the future statement as a flag: as an import it is one more file to find."""
    import __future__

    flag = __future__.annotations.compiler_flag if _FUTURE in text else 0
    return compile(text.replace(_FUTURE, b"\n\n", 1), source, "exec", flag, dont_inherit=True, optimize=2)


def _stamp(path):
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size]
