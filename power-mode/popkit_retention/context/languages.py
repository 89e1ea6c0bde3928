"""The languages whose sources have an outline: the nodes of their syntax trees that a signature is made of. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Language(NamedTuple):
    """The nodes of a syntax tree that have a signature, by the tree-sitter grammars that ast-grep bundles. Definitions are searched for
    inside the kinds in `opens`; the inside of a kind in `leaves`, or of a match of ast-grep's `rules`, is a body. `most_chars`: a longer
    source has no outline, since the time for broken sources grows with the square of their length, in some parsers a thousand times faster
    than in others."""

    opens: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    rules: tuple[dict[str, object], ...] = ()
    most_chars: int = 120_000


def _holding(kind: str, *values: str, field: str = "") -> dict[str, object]:
    """Return a rule for a node of this kind that holds a node of one of the other kinds, in a field or anywhere."""
    where: dict[str, object] = {"field": field} if field else {"stopBy": "end"}
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
