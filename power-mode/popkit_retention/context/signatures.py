"""The outline of a source: its signatures, from a syntax tree (ast-grep). Each line is as it is there, behind its number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from popkit_retention.core import units

from .languages import BODIES, LANGUAGES, PAIRS, WRAPPERS, language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ast_grep_py import SgNode


MOST_LINES = 400
_LINE_CHARS = 200
_SIGNATURE_LINES = 8
_HEADING_LINES = 3  # in front of a name: decorators, annotations
_WRITTEN_CHARS = 2_000  # a longer line is generated
_HEADING = re.compile(r" {0,3}#{1,6} ")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def outline(text: str, path: str) -> str:
    """Return the outline of a source, by the language of its path's extension: `12: def price(basket):`. At most MOST_LINES lines. "" for a
    language that has no outline, for a generated source (very long, or with very long lines), and where the parser is not installed; of a
    broken source, the part that parses."""
    language = language_of(path)
    if not language:
        return ""
    lines = list(_headings(text) if language == "markdown" else _signatures(text, language))
    outlined = [f"{number}: {line[:_LINE_CHARS]}" for number, line in lines[:MOST_LINES]]
    if len(lines) > len(outlined):
        outlined.append(f"… {units.counted(len(lines) - len(outlined), 'more line')} of signatures")
    return "\n".join(outlined)


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the headings in Markdown."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if mark[1] == fence else fence or mark[1]
        elif not fence and _HEADING.match(line):
            yield number, line.rstrip()


def _signatures(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the signatures that are not inside the body of a function."""
    lines = text.split("\n")
    if len(text) > LANGUAGES[language].most_chars or max(map(len, lines)) > _WRITTEN_CHARS:
        return
    inside, last = 0, -1  # the end of the last leaf; the last line yielded
    for node, is_leaf in _definitions(text, language):
        span = node.range()
        if span.start.index < inside:
            continue
        if is_leaf:
            inside = span.end.index
        end = _end(node)
        first, column = _beginning(node)
        if first <= last:  # another definition on the same line
            first, column = span.start.line, span.start.column
        for at in range(first, min(end[0], first + _SIGNATURE_LINES - 1) + 1):
            line = lines[at][column if at == first else 0 : end[1] if at == end[0] else None].rstrip().rstrip("{").rstrip("\r ")
            if line.strip():
                yield at + 1, line
                last = at


def _definitions(text: str, language: str) -> list[tuple[SgNode, bool]]:
    """Return (node, whether it is a leaf, whose inside is its body), in the order of the text."""
    try:
        from ast_grep_py import SgRoot
    except ImportError:
        return []
    known = LANGUAGES[language]
    rules = [*({"kind": kind} for kind in (*known.opens, *known.leaves)), *known.rules]
    try:
        nodes = SgRoot(text, language).root().find_all(any=rules)
    except RuntimeError:  # a grammar of another release names its nodes differently
        return []
    return [(node, node.kind() not in known.opens) for node in nodes]


def _beginning(node: SgNode) -> tuple[int, int]:
    """Return (line, column) of the beginning of a signature's lines: with its decorators and wrappers, unless these are long."""
    parent = node.parent()
    outer = parent if parent is not None and parent.kind() in WRAPPERS else node
    first, name = outer.range().start.line, node.field("name")
    if name is not None and name.range().start.line - first > _HEADING_LINES:
        first = name.range().start.line
    return first, 0


def _end(node: SgNode) -> tuple[int, int]:
    """Return (line, column) of the beginning of the body; where there is none, of the end of the definition or of its first line."""
    span = node.range()
    value = node.field("value")
    body = node.field("body") or (value.field("body") if value is not None else None)
    body = body or next((child for child in node.children() if child.kind() in BODIES), None)
    if body is None and value is not None and (node.kind() in PAIRS or value.range().end.line > span.start.line):
        body = value
    if body is not None:
        begin = body.range().start
        return begin.line, begin.column
    return span.start.line, span.end.column if span.end.line == span.start.line else _LINE_CHARS
