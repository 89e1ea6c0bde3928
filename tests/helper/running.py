"""A client that runs beside a helper: it knows its conversation as rows, compacts it with what the helper answers, and writes that down."""

from __future__ import annotations

import json
from typing import Any

from .asking import SESSION, Helper


class Running:
    """The client of a helper, whose transcript is all that it has said so far."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper

    def entries(self) -> list[dict[str, Any]]:
        """What the transcript holds since the last compaction."""
        found = [json.loads(line) for line in self.helper.transcript.read_text().splitlines()]
        begins = [at for at, entry in enumerate(found) if entry.get("subtype") == "compact_boundary"]
        return found[begins[-1] + 1 :] if begins else found

    def rows(self) -> list[dict[str, Any]]:
        """The conversation as a mod is handed it."""
        return [_row(entry) for entry in self.entries()]

    def sent(self) -> list[dict[str, Any]]:
        """The conversation as the next request would send it, without what the rows have, too."""
        return [{"role": entry["type"], "content": [_bare(block) for block in _blocks(entry)]} for entry in self.entries()]

    def compacts(self, trigger: str = "manual", own: bool = False, rows: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
        """What the helper answers; where that stands, the transcript goes on with it. `rows`: in place of those of the transcript."""
        asked = {"trigger": trigger, "agent_id": "", "instructions": "popkit" if own else "", "own": own, **more}
        handed = {"rows": self.rows(), "sent": self.sent()} if rows is None else {"rows": rows, "sent": [sent_of(row) for row in rows]}
        handed = handed if trigger != "precompute" else {"rows": []}
        answer = self.helper.ask("/compact", {**handed, **asked})
        if "rows" in answer and not answer.get("hand_on"):
            self._writes(answer["rows"], trigger)
            self.helper.ask("/compacted", {"agent_id": "", "stood": True})
        return answer

    def _writes(self, rows: list[dict[str, Any]], trigger: str) -> None:
        number = len(self.helper.transcript.read_text().splitlines())
        at = f"2026-11-22T10:30:{number % 60:02}.000Z"
        common = {"isSidechain": False, "sessionId": SESSION, "cwd": str(self.helper.project), "version": "2.1.330", "timestamp": at}
        last, added = f"b{number}", []
        added.append(
            {"type": "system", "subtype": "compact_boundary", "uuid": last, "parentUuid": None, "compactMetadata": {"trigger": trigger}}
        )
        for place, row in enumerate(rows):
            uuid = f"b{number}-{place}"
            added.append({"type": row["role"], "uuid": uuid, "parentUuid": last, "message": _message(row)})
            last = uuid
        with self.helper.transcript.open("a") as file:
            file.writelines(json.dumps({**entry, **common}) + "\n" for entry in added)


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] in ("tool_use", "tool_result") and not isinstance(block.get("content"), list):
        return {name: value for name, value in block.items() if name not in ("input", "content")} | {"as_row": True}
    return block


def sent_of(row: dict[str, Any]) -> dict[str, Any]:
    """The message that a row is in the next request."""
    return {"role": row["role"], "content": _message(row)["content"]}


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    blocks = _blocks(entry)
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    uses = [block for block in blocks if block["type"] == "tool_use"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    return {
        "role": entry["type"], "text": "\n".join(texts), "handle": entry["uuid"],
        "toolUses": [{"tool_use_id": use["id"], "tool": use["name"], "input": use["input"]} for use in uses],
        "toolResults": [{"tool_use_id": each["tool_use_id"], "text": _text(each["content"]), "isError": False} for each in results],
    }  # fmt: skip


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content if block["type"] == "text")


def _message(row: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": row["text"]}] if row["text"] else []
    content += [{"type": "tool_use", "id": use["tool_use_id"], "name": use["tool"], "input": use["input"]} for use in row["toolUses"]]
    content += [
        {"type": "tool_result", "tool_use_id": each["tool_use_id"], "content": each["text"]} for each in row["toolResults"]
    ]  # fmt: skip
    model = {"model": "<synthetic>"} if row["role"] == "assistant" else {}
    return {"role": row["role"], "content": content, **model}
