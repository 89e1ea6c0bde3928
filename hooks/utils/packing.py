"""The writing of the pack that hooks find their modules in (hooks/pack.py)."""

from __future__ import annotations

import sys
from marshal import dumps

from .io.system import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType
    from typing import Any, Protocol

    class Pack(Protocol):
        """A pack that is to be made again, as hooks/pack.py has it."""

        entries: dict[str, Any]
        extensions: dict[str, Any]
        unpacked: bool
        brought: dict[str, tuple[str, ...]]

        def codes(self, name: str) -> list[CodeType]: ...

    class Form(Protocol):
        """The module hooks/pack.py."""

        HEADER: bytes
        PACKAGE: str
        PATH: str
        source_of: Callable[[str, bool], str]
        stamp_of: Callable[[str], tuple[int, int] | None]


_external = sys.modules["_frozen_importlib_external"]
_PIECE_BYTES = 96 * 1024  # the C library asks the system for what is larger
_FUTURE = b"\nfrom __future__ import annotations\n"


def remake(form: Form, pack: Pack) -> None:
    """Write the pack again, with what was loaded past it. OSError where byte code may not be written."""
    temporary = f"{form.PATH}.{os.getpid()}"
    # Before compiling, which would be wasted with each call if this fails.
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    try:
        data = _packed(form, pack)
        whole = os.write(fd, data) == len(data)
    finally:
        os.close(fd)
    if whole:
        os.replace(temporary, form.PATH)
    else:  # the disk is full
        os.unlink(temporary)


def _packed(form: Form, pack: Pack) -> bytes:
    """Return the bytes of a pack of what the old one still has right and of what was loaded past it. Where something was, the notes on
    which module brings which are made again."""
    known: dict[str, Any] = {}
    codes: dict[str, CodeType] = {}
    for name, entry in pack.entries.items():
        if form.stamp_of(form.source_of(name, entry[2])) == entry[:2]:
            known[name] = (*entry[:3], None if pack.unpacked else pack.brought.get(name, entry[3]))
            codes[name] = pack.codes(name)[-1]
    extensions = {name: entry for name, entry in pack.extensions.items() if form.stamp_of(entry[0]) == entry[1:]}
    for name, module in list(sys.modules.items()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if isinstance(loader, _external.ExtensionFileLoader):
            stamp = form.stamp_of(loader.path)
            if stamp is not None:
                extensions[name] = (loader.path, *stamp)
        elif name.partition(".")[0] == form.PACKAGE and isinstance(loader, _external.SourceFileLoader):
            source, is_package = loader.path, hasattr(module, "__path__")
            stamp = form.stamp_of(source)
            if stamp is not None and source == form.source_of(name, is_package):
                known[name] = (*stamp, is_package, None)
                codes[name] = _compiled(loader.get_data(source), source)
    entries: dict[str, Any] = {}
    pieces: list[bytes] = []
    at = 0
    for name, (*entry, names) in known.items():
        names = names and tuple(other for other in names if other in codes)
        begin, ends = at, []
        for piece in _pieces([codes[other] for other in names or (name,)]):
            at += len(piece)
            ends.append(at)
            pieces.append(piece)
        entries[name] = (*entry, names, begin, tuple(ends))
    index = dumps((entries, extensions))
    length = len(form.HEADER) + 16 + len(index) + at
    return b"".join((form.HEADER, length.to_bytes(8, "big"), len(index).to_bytes(8, "big"), index, *pieces))


def _pieces(codes: list[CodeType]) -> list[bytes]:
    """Return codes of modules as lists of some of them: such a piece is read into memory that the one before it had, where one of all of
    them would need new pages."""
    pieces: list[bytes] = []
    begin, size = 0, 0
    for at, code in enumerate(codes):
        length = len(dumps(code))
        if size and size + length > _PIECE_BYTES:
            pieces.append(dumps(codes[begin:at]))
            begin, size = at, 0
        size += length
    return [*pieces, dumps(codes[begin:])]


def _compiled(text: bytes, source: str) -> CodeType:
    """Return the code of a module without docstrings and what only a checker of types reads, and with the future statement as a flag: as an
    import it is one more file to find."""
    import __future__

    import _ast

    flag = __future__.annotations.compiler_flag if _FUTURE in text else 0
    tree = compile(text.replace(_FUTURE, b"\n\n", 1), source, "exec", flag | _ast.PyCF_ONLY_AST, dont_inherit=True)
    _strip(tree.body, _ast)
    return compile(tree, source, "exec", flag, dont_inherit=True, optimize=2)


def _strip(statements: Iterable[Any], ast: Any) -> None:
    """Take annotations of functions, and what is imported for them, out of statements and what is below them."""
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            of = node.args
            for arg in (*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg):
                if arg:
                    arg.annotation = None
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass(lineno=node.lineno, col_offset=0)]
        for below in ("body", "orelse", "handlers", "finalbody"):
            _strip(getattr(node, below, ()), ast)
