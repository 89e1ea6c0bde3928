"""The outline of a source: its signatures, from a syntax tree (ast-grep), each line as it is there, behind its number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

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
    broken source what of it parses."""
    language = language_of(path)
    if not language:
        return ""
    lines = list(_headings(text) if language == "markdown" else _signatures(text, language))
    outlined = [f"{number}: {line[:_LINE_CHARS]}" for number, line in lines[:MOST_LINES]]
    if len(lines) > len(outlined):
        outlined.append(f"… {len(lines) - len(outlined)} more lines of signatures")
    return "\n".join(outlined)


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of Markdown's headings."""
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


# --- languages ---


class Language(NamedTuple):
    """The nodes of a syntax tree that have a signature, by the tree-sitter grammars that ast-grep bundles. Definitions are searched inside
    kinds of `opens`; the inside of a kind of `leaves`, or of a match of `rules` (of ast-grep), is its body. `most_chars`: a longer source
    has no outline, since on broken sources parsers take time in the square of their length, some a thousand times as much as others."""

    opens: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    rules: tuple[dict[str, Any], ...] = ()
    most_chars: int = 120_000


def _holding(kind: str, *values: str, field: str = "") -> dict[str, Any]:
    """Return a rule: a node of this kind that holds one of those, in a field or anywhere."""
    where: dict[str, Any] = {"field": field} if field else {"stopBy": "end"}
    return {"kind": kind, "has": {"any": [{"kind": value} for value in values], **where}}


_FUNCTIONS = ("arrow_function", "function_expression", "generator_function", "class")
_JAVASCRIPT = Language(
    ("class_declaration",),
    ("function_declaration", "generator_function_declaration", "method_definition"),
    (_holding("variable_declarator", *_FUNCTIONS, field="value"), _holding("field_definition", *_FUNCTIONS, field="value")),
)
_TYPESCRIPT = Language(
    (*_JAVASCRIPT.opens, "abstract_class_declaration", "interface_declaration", "internal_module", "module"),
    (
        *_JAVASCRIPT.leaves, "type_alias_declaration", "enum_declaration", "method_signature", "abstract_method_signature",
        "function_signature",
    ),
    (_JAVASCRIPT.rules[0], _holding("public_field_definition", *_FUNCTIONS, field="value")),
)  # fmt: skip
_C_LEAVES = ("function_definition", "type_definition", "preproc_function_def")
_C_RULES = (
    _holding("declaration", "function_declarator"),
    *(_holding(f"{name}_specifier", "field_declaration_list", field="body") for name in ("struct", "union")),
    _holding("enum_specifier", "enumerator_list", field="body"),
)

LANGUAGES = {
    "bash": Language(leaves=("function_definition",), most_chars=16_000),
    "c": Language(leaves=_C_LEAVES, rules=_C_RULES),
    "cpp": Language(
        ("namespace_definition", "class_specifier", "struct_specifier"),
        (*_C_LEAVES, "alias_declaration", "concept_definition"),
        (_C_RULES[0], _C_RULES[-1], _holding("field_declaration", "function_declarator")),
    ),
    "csharp": Language(
        ("namespace_declaration", "class_declaration", "struct_declaration", "interface_declaration", "record_declaration"),
        ("enum_declaration", "delegate_declaration", "method_declaration", "constructor_declaration", "property_declaration"),
    ),
    "dart": Language(("class_declaration",), ("method_declaration", "function_declaration", "enum_declaration", "constructor_signature")),
    "go": Language(("type_spec",), ("function_declaration", "method_declaration", "method_elem", "type_alias")),
    "java": Language(
        ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration"),
        ("method_declaration", "constructor_declaration", "annotation_type_declaration"),
    ),
    "javascript": _JAVASCRIPT,
    "json": Language(leaves=("pair",)),
    "kotlin": Language(("class_declaration", "object_declaration", "companion_object"), ("function_declaration", "type_alias")),
    "lua": Language(leaves=("function_declaration",), rules=(_holding("assignment_statement", "function_definition"),), most_chars=12_000),
    "php": Language(
        ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"),
        ("namespace_definition", "method_declaration", "function_definition"),
    ),
    "python": Language(("class_definition",), ("function_definition",)),
    "ruby": Language(("module", "class"), ("method", "singleton_method")),
    "rust": Language(
        ("impl_item", "trait_item", "mod_item"),
        (
            "function_item", "function_signature_item", "struct_item", "enum_item", "union_item", "type_item", "const_item", "static_item",
            "macro_definition",
        ),
    ),
    "scala": Language(
        ("class_definition", "object_definition", "trait_definition", "enum_definition"),
        ("function_definition", "function_declaration", "type_definition"),
    ),
    "swift": Language(
        ("class_declaration", "protocol_declaration"),
        ("init_declaration", "function_declaration", "protocol_function_declaration", "typealias_declaration"),
    ),
    "tsx": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
    "yaml": Language(leaves=("block_mapping_pair",)),
}  # fmt: skip
# Nodes around a definition that belong to its signature.
WRAPPERS = frozenset(("template_declaration", "decorated_definition", "export_statement"))
# Nodes of data, whose keys are the outline.
PAIRS = frozenset(("pair", "block_mapping_pair"))
# Bodies of definitions where the grammar has no field of that name.
BODIES = frozenset(("class_body", "enum_class_body", "function_body", "constructor_body", "enum_body", "arrow_function"))

_EXTENSIONS = {
    "bash": "sh bash zsh", "c": "c h", "cpp": "cc cpp cxx hh hpp hxx", "csharp": "cs", "dart": "dart", "go": "go", "java": "java",
    "javascript": "js jsx mjs cjs", "json": "json", "kotlin": "kt kts", "lua": "lua", "markdown": "md mdx markdown", "php": "php",
    "python": "py pyi", "ruby": "rb rake", "rust": "rs", "scala": "scala sc", "swift": "swift", "tsx": "tsx",
    "typescript": "ts mts cts", "yaml": "yaml yml",
}  # fmt: skip
BY_EXTENSION = {extension: language for language, extensions in _EXTENSIONS.items() for extension in extensions.split()}


def language_of(path: str) -> str:
    """Return the language of a file by its extension; "" for one that has no outline."""
    name = path.rpartition("/")[2]
    return BY_EXTENSION.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
