"""The handles under which a live clear would archive the results of a session, so that a replayed placeholder reads as a live one.

It takes another pass over the transcript, so only who shows placeholders asks for it. Reads only.
"""

from __future__ import annotations

import os

from hooks.utils.archive.content import hash_content, plain
from hooks.utils.archive.records import HANDLE_CHARS, digest, handle
from hooks.utils.hosts.claude_code import entries
from hooks.utils.hosts.claude_code.spans import NotUnderstood, content_spans
from hooks.utils.state.archived import task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .sessions import Session

_SUFFIX, _AGENT = ".jsonl", "agent-"


def name(session: Session) -> None:
    """Gives every result of a Session its handle; OSError when its transcript cannot be read. One in a line that a live clear would refuse
    keeps its stand-in."""
    found = _handles(session.path, session.size)
    for kind, block, *_ in session.steps:
        if kind == "add" and block.id in found:
            block.handle = found[block.id]


def _handles(path: str, size: int) -> dict:
    """id of a result -> its handle, by the first content that stands for it."""
    chain, found = plain(chain_of(path)), {}
    for _, line in entries.lines(path, size):
        if b'"tool_result"' in line:
            try:
                spans = content_spans(line, side_chains=True)
            except NotUnderstood:
                continue
            for id, (start, end) in spans.items():
                if id not in found:
                    content_hash = hash_content(line[start:end].decode("utf-8"))
                    found[id] = handle(digest(chain, plain(id), content_hash), HANDLE_CHARS)
    return found


def chain_of(path: str) -> str:
    """The archive's name for the context of a transcript: the host names the file after the session, that of a subagent
    <session>/subagents/agent-<id>.jsonl."""
    folder, name = os.path.split(os.path.abspath(path))
    name = name.removesuffix(_SUFFIX)
    if os.path.basename(folder) == "subagents" and name.startswith(_AGENT):
        return task_id(os.path.basename(os.path.dirname(folder)), name[len(_AGENT) :])
    return task_id(name)
