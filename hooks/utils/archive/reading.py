"""Read a content as a person does: its text, its pictures. Pure."""

from __future__ import annotations

try:
    from _json import scanstring  # `import json` takes a quarter of a restore's time, and most contents are a text
except ImportError:
    from json.decoder import scanstring  # type: ignore[attr-defined,no-redef]  # typeshed leaves it out

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def value_of(content: str) -> object:
    """Return what a content (its JSON text) says: a text, or a list of blocks; the content itself where it is no JSON."""
    try:
        return _text(content) if content.startswith('"') else _json_value(content)
    except ValueError:
        return content


def _text(content: str) -> object:
    value, end = scanstring(content, 1)
    return value if end == len(content) else _json_value(content)


def _json_value(content: str) -> object:
    import json

    return json.loads(content)


def text_of(content: str) -> str:
    """Return the text that the model saw: blocks below each other, an image as a note."""
    value = value_of(content)
    if isinstance(value, str):
        return value
    return "\n".join(map(_block, value)) if isinstance(value, list) else _json(value)


def media_of(content: str) -> list[tuple[str, str]]:
    """Return (media type, base64) of each picture and document in it."""
    value = value_of(content)
    sources = (
        [block["source"] for block in value if isinstance(block, dict) and isinstance(block.get("source"), dict)]
        if isinstance(value, list)
        else []
    )
    return [(str(source.get("media_type")), source["data"]) for source in sources if isinstance(source.get("data"), str)]


def _block(block: object) -> str:
    if not isinstance(block, dict):
        return _json(block)
    if "toolUses" in block:
        return _calls(block)
    for name in ("text", "thinking"):
        if isinstance(block.get(name), str):
            return block[name]
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        return f"[{block.get('type')}: {source.get('media_type')}, {len(source['data']) * 3 // 4:,} bytes]"
    return _json(block)


def _calls(message: dict[str, object]) -> str:
    """Return a message of calls that were archived whole (policy/messages.py): what it says, its calls, their results."""
    parts = [message.get("text")]
    for name, what in (("toolUses", _call), ("toolResults", _block)):
        values = message.get(name)
        parts += map(what, values) if isinstance(values, list) else []
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _call(use: object) -> str:
    return f"{use.get('tool')} {_json(use.get('input'))}" if isinstance(use, dict) else _json(use)


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
