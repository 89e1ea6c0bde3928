"""A client that knows what it sends: conversations of every kind of row and block, as the next request would send them, as rows for whoever
compacts, and as lines of a transcript. It shares nothing with what compacts them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SESSION = "5e551011-0000-4000-8000-0000000000aa"
Block = dict[str, Any]
Api = list[dict[str, Any]]

# All types of attachments that client 2.1.332 has a text for, or that stand in recorded sessions.
ATTACHMENTS = """
account_memory_recall advisor_stripped advisor_tool agent_ask_notice agent_listing_delta agent_mention already_read_file
artifact_opening_prefetch async_hook_response async_hook_response_batch at_mention_reference attention_budget auto_mode auto_mode_exit
bash_output_audience_note batching_reminder batching_reminder_sent budget_usd claude_app_notice command_permissions compact_file_reference
context_efficiency context_sections coordinator_context cowork_memory_context credential_org critical_system_reminder date date_change
deferred_tools_delta deferred_tools_record diagnostics dir_sync_notice directory dynamic_skill edited_image_file edited_text_file
elapsed_time_reminder environment file first_week fork_briefing goal_status goals hook_additional_context hook_blocking_error
hook_cancelled hook_deferred_tool hook_error_during_execution hook_non_blocking_error hook_permission_decision hook_stopped_continuation
hook_success hook_system_message inlined_image_paths instructions invoked_skills language linked_plugin_tools_note max_turns_reached
mcp_dropped_tools_delta mcp_instructions_delta mcp_resource memory_update message_pdf_reads model nested_memory opened_file_in_ide
output_limit_note output_style output_style_instructions output_token_usage pdf_reference peer_mention plan_file_reference plan_mode
plan_mode_exit plan_mode_reentry plugin_note poll_events prefix_delta proactivity progress_reminder_sent project_doc_reads
projects_thread_ask prompt_as_file prompt_render_point queued_command read_truncation_notice relevant_memories remote_session_change
repl_mcp_needs_auth repl_mcp_servers sandbox_instructions secondary_reminder secondary_reminder_sent selected_lines_in_diff
selected_lines_in_ide session_context session_cron_carry silent_turn_reminder skill_listing skill_mention structured_output task_reminder
task_status team_context teammate_mailbox teammate_shutdown_batch thinking_drop thinking_stripped thread_state todo_reminder token_usage
tool_host_result_lines tool_hosts_correction tool_hosts_notice tool_offer_record tool_results_cut tool_search_usage_reminder
total_tokens_reminder ultra_effort_enter ultra_effort_exit ultrathink_effort unknown_command_fallback whole_texts_withdrawn
widget_context_hint withheld_memory workflow_keyword_request workflow_size_guideline_change of_a_type_to_come
""".split()
# What the client says again by itself in the first request behind any compaction, and what only with the prompt behind one.
AT_ONCE = frozenset("instructions session_context date remote_session_change auto_mode output_style".split())
AGAIN = AT_ONCE.union(
    "environment model deferred_tools_delta agent_listing_delta mcp_instructions_delta skill_listing output_style_instructions"
    " language".split()
)
QUEUED = "queued_command"
# Blocks of the Messages API beside texts, calls, results, pictures and documents, and where they stand. One `{}` is a text of its own.
SERVER = {
    "assistant": [
        {"type": "text", "text": "{}", "citations": [{"type": "char_location", "cited_text": "{}", "document_index": 0}]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "{}"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "title": "{}"}]},
        {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "web_fetch_result", "url": "{}"}},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "{}"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"stdout": "{}"}},
        {"type": "text_editor_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {"lines": ["{}"]}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {"tool_references": [{"tool_name": "{}"}]}},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "demo", "input": {"of": "{}"}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": [{"type": "text", "text": "{}"}]},
        {"type": "container_upload", "file_id": "{}"},
        {"type": "compaction", "content": "{}"},
    ],
    "user": [
        {"type": "search_result", "source": "{}", "title": "so", "content": [{"type": "text", "text": "{}"}]},
        {"type": "container_upload", "file_id": "{}"},
    ],
    "result": [{"type": "search_result", "source": "{}", "title": "so", "content": [{"type": "text", "text": "{}"}]}],
}  # fmt: skip
# Nobody knows these: a field that is new, and a type that is.
UNKNOWN = {
    "assistant": [{"type": "hologram", "data": "{}"}, {"type": "text", "text": "said", "spoken": "{}"}],
    "user": [{"type": "hologram", "data": "{}"}, {"type": "text", "text": "said", "spoken": "{}"}],
    "result": [{"type": "hologram", "data": "{}"}, {"type": "image", "source": {"type": "url", "url": "x"}, "caption": "{}"}],
}  # fmt: skip


def reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


@dataclass
class Said:
    """A row: what one side said, called, or got. A `meta` one is sent, but nobody is handed it."""

    role: str
    blocks: list[Block]
    meta: bool = False


@dataclass
class Added:
    """An attachment with the `texts` that it is sent as, and `pictures` behind them; `merged` into the text of the result before it, where
    that is one text."""

    type: str
    texts: list[str]
    merged: bool = False
    fields: Block = field(default_factory=dict)
    pictures: list[Block] = field(default_factory=list)

    @property
    def blocks(self) -> list[Block]:
        return [*({"type": "text", "text": text} for text in self.texts), *self.pictures]


class Client:
    """One conversation. `thinking`: how its requests have the model think; `split`: whether each block of the assistant's is a row of its
    own, as the client keeps what it streamed."""

    def __init__(self, transcript: Path, thinking: str = "adaptive", split: bool = True) -> None:
        self.transcript = transcript
        self.split = split
        self.entries: list[Said | Added] = []
        self._with_prompt: list[Said | Added] = []
        self._last: str | None = None
        self._count = 0
        asked = {"sessionId": SESSION, "params": {"model": "claude-opus-5-5", "thinking": {"type": thinking}}}
        transcript.write_text(_line({"type": "api-request", "querySource": "sdk", **asked}))

    def add(self, entry: Said | Added) -> None:
        self.entries.append(entry)
        self._write(entry)

    def compacted(self, rows: Iterable[dict[str, Any]], again: Container[str] = AGAIN) -> None:
        """What stands in place of the conversation; what the client says `again` follows with the next request, the rest of what it says
        again with the next prompt."""
        renewed = {id(entry): entry for entry in self.entries if isinstance(entry, Added) and entry.type in AGAIN}.values()
        said_again = [entry for entry in renewed if entry.type in again]
        self._with_prompt = [*self._with_prompt, *(entry for entry in renewed if entry.type not in again)]
        self.entries, self._last = [], None
        self._append({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual"}})
        for row in rows:
            texts = [{"type": "text", "text": row["text"]}] if row["text"] else []
            uses = [{"type": "tool_use", "id": use["tool_use_id"], "name": use["tool"], "input": use["input"]} for use in row["toolUses"]]
            results = [_result(each["tool_use_id"], each["text"], each.get("isError") is True) for each in row["toolResults"]]
            self.add(Said(row["role"], [*texts, *uses, *results]))
        for entry in said_again:
            self.add(entry)

    def prompted(self, blocks: list[Block]) -> None:
        """What the person says, and what the client says with it."""
        self.add(Said("user", blocks))
        for entry in self._with_prompt:
            self.add(entry)
        self._with_prompt = []

    def api(self) -> Api:
        """The messages of the next request."""
        return self._sent(self.entries)

    def said(self) -> Api:
        """The messages of the next request, and behind them what the client says again with the next prompt."""
        return self._sent([*self.entries, *self._with_prompt])

    def _sent(self, entries: Iterable[Said | Added]) -> Api:
        messages: Api = []
        for entry in entries:
            role = "user" if isinstance(entry, Added) else entry.role
            if not messages or messages[-1]["role"] != role:
                messages.append({"role": role, "content": []})
            content = messages[-1]["content"]
            last = content[-1] if content else {}
            if isinstance(entry, Added) and entry.merged and last.get("type") == "tool_result" and isinstance(last["content"], str):
                content[-1] = {**last, "content": "\n\n".join([last["content"], *entry.texts])}
            else:
                content += entry.blocks
        return messages

    def handed(self) -> Api:
        """The same, as the mod hands it over: without what the rows have, word for word."""
        texts = {each["tool_use_id"]: each["text"] for row in self.rows() for each in row["toolResults"]}
        calls = {use["tool_use_id"] for row in self.rows() for use in row["toolUses"]}

        def bare(block: Block) -> Block:
            if block["type"] in ("thinking", "redacted_thinking"):
                return {"type": block["type"]}
            if block["type"] == "tool_result" and texts.get(block["tool_use_id"]) == block["content"]:
                return {**{name: value for name, value in block.items() if name != "content"}, "as_row": True}
            if block["type"] == "tool_use" and block["id"] in calls:
                return {**{name: value for name, value in block.items() if name != "input"}, "as_row": True}
            return block

        return [{**message, "content": [bare(block) for block in message["content"]]} for message in self.api()]

    def rows(self) -> list[dict[str, Any]]:
        """What a hook on compactions is handed: no attachments, and of each row its texts, calls, and results as text."""
        return [row for entry in self.entries if isinstance(entry, Said) and not entry.meta for row in self._rows(entry)]

    def _rows(self, entry: Said) -> Iterator[dict[str, Any]]:
        parts = [[block] for block in entry.blocks] if self.split and entry.role == "assistant" else [entry.blocks]
        for blocks in parts:
            yield {
                "role": entry.role,
                "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
                "handle": f"h{len(blocks)}",
                "toolUses": [
                    {"tool_use_id": block["id"], "tool": block["name"], "input": block["input"]}
                    for block in blocks
                    if block["type"] == "tool_use"
                ],
                "toolResults": [
                    {"tool_use_id": block["tool_use_id"], "text": text_of(block["content"]), "isError": block.get("is_error", False)}
                    for block in blocks
                    if block["type"] == "tool_result"
                ],
            }

    def _write(self, entry: Said | Added) -> None:
        if isinstance(entry, Added):
            attachment = {"type": entry.type, **entry.fields}
            rendered = [{"content": entry.blocks}] if entry.pictures else [{"content": text} for text in entry.texts]
            self._append({"attachment": attachment, "type": "attachment", "rendered": rendered})
            return
        parts = [[block] for block in entry.blocks] if self.split and entry.role == "assistant" else [entry.blocks]
        for blocks in parts:
            message: Block = {"role": entry.role, "content": blocks}
            if entry.role == "assistant":
                usage = {"input_tokens": 3, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 30_000, "output_tokens": 5}
                message |= {"id": f"m{self._count}", "model": "claude-opus-5-5", "usage": usage}
            self._append({"type": entry.role, "message": message, **({"isMeta": True} if entry.meta else {})})

    def _append(self, entry: Block) -> None:
        self._count += 1
        uuid = f"u{self._count}"
        at = f"2026-11-27T10:{self._count // 60 % 60:02}:{self._count % 60:02}.000Z"
        common = {"sessionId": SESSION, "isSidechain": False, "cwd": "/shop", "version": "2.1.332", "timestamp": at}
        with self.transcript.open("a") as file:
            file.write(_line({"parentUuid": self._last, **entry, "uuid": uuid, **common}))
        self._last = uuid


def text_of(content: str | list[Block]) -> str:
    """The text of a result, as a row has it."""
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content if block["type"] == "text")


def strings(value: object) -> Iterator[str]:
    """Every string in blocks, messages or whatever an archive holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def _result(id: str, content: object, error: bool) -> Block:
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error}


def _line(entry: Block) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"
