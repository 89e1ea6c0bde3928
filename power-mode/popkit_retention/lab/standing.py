"""The context of a replayed session as the messages that a compaction is made of, and a compaction as what stands in its blocks' places.
Pure.

Of what was said only the length is known, which is all that a compaction asks: it stands in any case.
"""

from __future__ import annotations

import json

from hooks.utils.policy import compacting, stubs
from hooks.utils.policy.estimate import CHARS_PER_TOKEN
from hooks.utils.policy.messages import ASSISTANT, USER, Message, Shown, Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import Choice, View


def messages_of(view: View) -> list[Message]:
    """The conversation as it stands; a call whose result has not come is left out, and so is one that only a line stands for."""
    asking = {block.asks: block for block in view.context if block.asks}
    made: list[Message] = []
    for block in view.context:
        text = view.cleared.get(block, view.entered.get(block, block.text))
        if block.id and not (block in view.cleared and _is_listed(text)):
            call = block.call
            stub = view.cleared.get(asking[block.id], "") if block.id in asking else ""  # "": the result came back, and was asked for anew
            use = Use(block.id, call.traits, json.loads(stub) if stub else call.tool_input)
            made += [Message(ASSISTANT, "", [use]), Message(USER, "", (), [Shown(block.id, text, call.outcome.error)])]
        elif block.id and text:
            made.append(Message(USER, text))
        elif block.said and not block.asks and block not in view.cleared:
            made.append(Message(USER, "x" * round(CHARS_PER_TOKEN["dialogue"] * block.said)))
    return made


def _is_listed(text: str) -> bool:
    return not text or bool(stubs.handle_of_fold(text))


def choices(view: View, before: Sequence[Message], done: compacting.Compacted) -> list[Choice]:
    """What a compaction puts into the places of blocks: placeholders, stubs as JSON, and where calls are only listed, the line in the place
    of the first result and nothing in those of the others."""
    texts = {shown.id: shown.text for message in before for shown in message.results}
    inputs = {use.id: use.input for message in before for use in message.uses}
    whys = {one.id: one.why for one in done.left}
    said = set(map(id, before))
    lines = [message.text for message in done.messages if id(message) not in said and stubs.handle_of_fold(message.text)]
    shown, used = dict(texts), dict(inputs)
    for message in done.messages:
        shown.update((each.id, each.text) for each in message.results)
        used.update((each.id, each.input) for each in message.uses)
    gone: dict[str, str] = {}
    for one, line in zip([each for each in done.left if each.kind == compacting.CALLS], lines):
        ids = [use["tool_use_id"] for each in one.content for use in each["toolUses"]]  # type: ignore[index]
        gone.update(dict.fromkeys(ids, ""), **{ids[0]: line})
        whys.update(dict.fromkeys(ids, one.why))
    found: list[Choice] = []
    for block in view.context:
        if block.id in gone:
            found.append((block, gone[block.id], [whys[block.id]]))
        elif block.asks in gone:
            found.append((block, "", [whys[block.asks]]))
        elif block.id in texts and shown[block.id] is not texts[block.id]:
            found.append((block, shown[block.id], [whys[block.id]]))
        elif block.asks in inputs and used[block.asks] is not inputs[block.asks]:
            found.append((block, json.dumps(used[block.asks], ensure_ascii=False), [stubs.WHY]))
    return found
