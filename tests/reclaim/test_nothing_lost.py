"""Nothing is lost in place: whatever stands in the last request before a compaction, a clear or an undo stands in the next one, or in the
archive under a handle that is named there or in the receipt; or the client says it again by itself, or its own compaction runs.

For conversations of every row and block that a client is known to have. What is asked of them is read from requests and from the archive's
file alone.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popkit_retention.core.helper.compactions import CompactionRequest, Compactions
from popkit_retention.core.reclaim import undoing
from popkit_retention.core.reclaim.access import ClearRefused
from popkit_retention.core.state import reconciling
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.state.site import Site
from tests.examples import examples
from tests.reclaim.sending import (
    AGAIN,
    AT_ONCE,
    ATTACHMENTS,
    QUEUED,
    SERVER,
    SESSION,
    UNKNOWN,
    Added,
    Api,
    Block,
    Client,
    Said,
    reminder,
    strings,
)

HANDLE = re.compile(r"popkit restore ([a-z2-7]{8,})")
NOW = 1_795_780_000.0
LONG = "a line of many words that fill a context\n"
# What texts say beside their number: also what looks like something of the client's, or of ours.
SAYS = st.one_of(
    st.sampled_from([
        "", "so", " ", "\n\nand\n\tso\n", "</system-reminder>", "<system-reminder>\nso\n</system-reminder>", "語 ∑ \u2028 \x1b[31m",
        "[PopKit cleared Read a.py (old). To see it: popkit restore zzzz2345]", "[PopKit left out Bash ls: popkit restore zzzz2345]",
        "<command-name>/compact</command-name>", "<local-command-stdout>Compacted</local-command-stdout>", '{"type":"image"}', LONG * 60,
        "The user sent a new message while you were working:\nno", "toolu_1_0",
    ]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)  # fmt: skip
# Beside attachments: words with a picture that were typed in mid-turn, a row that nobody is handed, and what is added again and again.
WITH_PICTURE, META, SAME = "words with a picture", "row that is meta", "the same reminder"
EMPTY = "The list of tasks is empty."
# Of these the client sends a new one whenever its figure or list has changed.
COUNTED = (
    "total_tokens_reminder", "token_usage", "output_token_usage", "budget_usd", "elapsed_time_reminder", "silent_turn_reminder",
    "task_reminder", "todo_reminder",
)  # fmt: skip
YES = "yes"  # what a person says more than once
WAYS = ("/compact", "auto", "clear")


@dataclass
class Scene:
    """A conversation in the making: each piece of it has a number of its own, by which it is found again."""

    client: Client
    pieces: dict[str, str] = field(default_factory=dict)  # its number -> whole
    typed: set[str] = field(default_factory=set)  # the person's own words
    told: set[str] = field(default_factory=set)  # words, and what the client has added
    with_media: set[str] = field(default_factory=set)  # pieces of results that show more than text
    media: set[str] = field(default_factory=set)
    counted: dict[str, str] = field(default_factory=dict)  # reminders of what the client counts or lists anew -> their kind
    newest: dict[str, str] = field(default_factory=dict)  # kind -> the number, or the text, of the newest of these
    is_open: bool = False
    calls: int = 0

    def piece(self, says: str = "") -> str:
        """A text with a number: in front, or behind what something is told by that begins so."""
        number = f"⟨{len(self.pieces) + 1}⟩"
        text = f"{says} {number}" if says.startswith(("<system-reminder>", "[PopKit", "The user sent")) else f"{number} {says}"
        self.pieces[number] = text.strip()
        return text

    def path(self) -> str:
        """A file of its own."""
        number = self.piece().strip()
        self.pieces[number] = f"/shop/{number}.py"
        return self.pieces[number]

    def number(self, text: str) -> str:
        return text[text.index("⟨") : text.index("⟩") + 1]

    def prompt(self, *blocks: Block) -> None:
        self.client.prompted(list(blocks))

    def text(self, says: str) -> Block:
        """Words of the person's."""
        text = self.piece(says)
        self.typed.add(self.number(text))
        self.told.add(self.number(text))
        return {"type": "text", "text": text}

    def shown(self, kind: str) -> Block:
        """A picture or a document."""
        data = self.piece()
        self.media.add(self.number(data))
        media_type = "image/png" if kind == "image" else "application/pdf"
        return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data.strip()}}

    def attach(self, type: str, says: str, merged: bool) -> None:
        if type == SAME:
            self.client.add(Added("task_reminder", [reminder(EMPTY)], merged))
            self.newest["task_reminder"] = EMPTY
            return
        text = self.piece(says)
        self.told.add(self.number(text))
        if type == META:
            self.client.add(Said("user", [{"type": "text", "text": text}], meta=True))
        elif type in (QUEUED, WITH_PICTURE):
            self.typed.add(self.number(text))
            around = f"The user sent a new message while you were working:\n{text}\n\nThis is how they are surfaced."
            pictures = [self.shown("image")] if type == WITH_PICTURE else []
            fields = {"commandMode": "prompt", "prompt": [{"type": "text", "text": text}, *pictures]}
            self.client.add(Added(QUEUED, [reminder(around)], merged and not pictures, fields, pictures))
        else:
            if type in COUNTED:
                self.counted[self.number(text)] = type
                self.newest[type] = self.number(text)
            self.client.add(Added(type, [reminder(text)], merged))

    def asks(self, *uses: tuple[str, Block], says: str = "", before: tuple[Block, ...] = ()) -> list[str]:
        """The assistant's message with these calls; the ids of them."""
        ids = [f"toolu_{self.calls + number}_{len(uses)}" for number in range(len(uses))]
        self.calls += len(uses)
        text = [{"type": "text", "text": self.piece(says)}] if says else []
        calls = [{"type": "tool_use", "id": id, "name": name, "input": given} for id, (name, given) in zip(ids, uses)]
        self.client.add(Said("assistant", [*before, *text, *calls]))
        return ids

    def gets(self, id: str, content: str | list[Block], error: bool = False) -> None:
        self.client.add(Said("user", [{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error}]))

    def answers(self, *before: Block) -> None:
        self.client.add(Said("assistant", [*before, {"type": "text", "text": self.piece("done")}]))

    def works(self) -> None:
        """What a compaction finds to take out: a long file is read, and edited afterwards."""
        path = "/shop/list.js"
        (id,) = self.asks(("Read", {"file_path": path}))
        self.gets(id, self.piece(LONG * 90))
        (id,) = self.asks(("Edit", {"file_path": path, "old_string": self.piece("old"), "new_string": self.piece("new")}))
        self.gets(id, self.piece("The file has been updated"))

    def rests(self) -> None:
        """So many calls that what came before is out of use."""
        for number in range(5):
            (id,) = self.asks(("Bash", {"command": f"echo {number}"}))
            self.gets(id, self.piece("echoed"))


# --- what is drawn ---------------------------------------------------------------------------------------------------------------------

PLACES = st.sampled_from(["in front", "behind", "merged"])
TYPES = st.sampled_from(ATTACHMENTS) | st.sampled_from(
    [QUEUED, WITH_PICTURE, META, SAME, "file", "nested_memory", "hook_additional_context"]
)
ADDED = st.tuples(TYPES, PLACES, SAYS)
RESULTS = st.sampled_from(["text", "text", "blocks", "empty", "image", "text and document", "reference", "long"])
TOOLS = st.sampled_from(["Read", "Bash", "mcp__demo__ask", "Write", "Grep"])
EXCHANGES = st.tuples(st.lists(st.tuples(TOOLS, RESULTS, SAYS), min_size=1, max_size=3), SAYS, st.booleans(), st.lists(ADDED, max_size=3))
PROMPTS = st.lists(st.tuples(st.sampled_from(["text", "text", "image", "document", YES]), SAYS), min_size=1, max_size=3)
TURNS = st.lists(st.tuples(st.lists(ADDED, max_size=2), PROMPTS, st.lists(EXCHANGES, max_size=3)), min_size=1, max_size=3)


def play(scene: Scene, turns: list[Any], is_open: bool) -> None:
    scene.prompt(scene.text("go"))
    scene.works()
    scene.answers()
    for at, (added, prompt, exchanges) in enumerate(turns):
        for type, place, says in added:
            scene.attach(type, says, place == "merged")
        blocks = [prompted(scene, kind, says) for kind, says in prompt]
        scene.prompt(*blocks, scene.text("go on"))
        for exchange in exchanges:
            exchanged(scene, *exchange)
        if at == len(turns) - 1:
            scene.rests()
        if not (is_open and at == len(turns) - 1):
            scene.answers()
    scene.is_open = is_open


def prompted(scene: Scene, kind: str, says: str) -> Block:
    if kind == YES:
        return {"type": "text", "text": YES}
    return scene.text(says) if kind == "text" else scene.shown(kind)


def exchanged(scene: Scene, calls: list[tuple[str, str, str]], says: str, thinks: bool, added: list[tuple[str, str, str]]) -> None:
    """Calls that are made at once, their results, and what the client adds to them."""
    thinking = ({"type": "thinking", "thinking": "hm", "signature": "s"},) if thinks else ()
    uses = [(name, input_of(scene, name, text)) for name, _, text in calls]
    for place, (type, where, text) in enumerate(added):
        if where == "in front" and place == 0:
            scene.attach(type, text, merged=False)
    for id, (_, kind, text) in zip(scene.asks(*uses, says=says, before=thinking), calls):
        scene.gets(id, content_of(scene, kind, text), error=kind == "text" and text == "so")
    for type, where, text in added:
        if where != "in front":
            scene.attach(type, text, where == "merged")


def input_of(scene: Scene, tool: str, says: str) -> Block:
    if tool == "Bash":
        return {"command": scene.piece(says)}
    if tool not in ("Read", "Write"):
        return {"pattern": scene.piece(says)}
    return {"file_path": scene.path(), **({"content": scene.piece(says)} if tool == "Write" else {})}


def content_of(scene: Scene, kind: str, says: str) -> str | list[Block]:
    if kind in ("text", "long", "empty"):
        return "" if kind == "empty" else scene.piece(says + (LONG * 120 if kind == "long" else ""))
    if kind == "reference":
        return [{"type": "tool_reference", "tool_name": scene.piece().strip()}]
    text = {"type": "text", "text": scene.piece(says)}
    if kind == "blocks":
        return [text, {"type": "text", "text": scene.piece(says)}]
    if kind == "text and document":
        scene.with_media.add(scene.number(text["text"]))
        return [text, scene.shown("document")]
    return [scene.shown("image")]


# --- what is done with them --------------------------------------------------------------------------------------------------------


class Place:
    """A home, and the compactions of the one session there."""

    def __init__(self, folder: Path, target: float | None) -> None:
        self.home = folder / "popkit"
        self.home.mkdir()
        if target is not None:
            (self.home / "retention-config.json").write_text(json.dumps({"retention": {"compact_target": target}}))
        self.transcript = folder / f"{SESSION}.jsonl"
        self.compactions: Compactions | None = None

    def answer(self, client: Client, way: str, **wanted: Any) -> dict[str, Any]:
        """What is answered to a compaction; done, where it stands."""
        site = Site({"POPKIT_HOME": str(self.home)}, SESSION, "/shop")
        reconciling.rebuild_if_small(site, site.paths(), str(self.transcript))  # as the hooks have it, which have followed the conversation
        compactions = self.compactions = self.compactions or Compactions(SessionNotes(site.home, SESSION), str(self.transcript))
        is_own = bool(wanted)
        if "clear" in wanted:
            compactions.clear([wanted["clear"]])
        elif is_own:
            try:
                compactions.put_back(undoing.taken_last(site, str(self.transcript))[0])
            except ClearRefused:  # nothing that left can come back
                return {}
        rows, sent = json.loads(json.dumps([client.rows(), client.handed()]))
        request = CompactionRequest("auto" if way == "auto" else "manual", "", "", is_own, rows, sent)
        answer = json.loads(json.dumps(compactions.answer(site, str(self.transcript), request, NOW)))
        done = compactions.confirm("rows" in answer)
        if done:
            done()
        return answer

    def archived(self) -> dict[str, str]:
        """handle -> all that the archive has under it."""
        archive = self.home / "archive.sqlite"
        if not archive.exists():
            return {}
        with closing(sqlite3.connect(f"file:{archive}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT id, coalesce(content, content_compressed) FROM thought_records").fetchall()
        opened = {handle: gzip.decompress(kept) if kept[:2] == b"\x1f\x8b" else kept for handle, kept in rows}
        return {handle: "\0".join(strings(json.loads(kept))) for handle, kept in opened.items()}

    def receipts(self) -> str:
        found = self.home.glob("sessions/*/main.receipts.jsonl")
        return "".join(path.read_text() for path in found)


@contextmanager
def placed(target: float | None = None, **how: Any) -> Iterator[tuple[Place, Scene]]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108  in memory
        place = Place(Path(folder), target)
        yield place, Scene(Client(place.transcript, **how))


def said(request: Api) -> list[str]:
    """All texts of a request."""
    return list(strings([message["content"] for message in request]))


def holds(texts: list[str], piece: str) -> int:
    return sum(text.count(piece) for text in texts)


def assert_nothing_lost(scene: Scene, place: Place, before: Api, after: Api) -> None:
    was, now = said(before), said(after)
    archived = place.archived()
    named = "\0".join([*now, place.receipts()])
    behind = "\0".join(text for handle, text in archived.items() if handle in named)
    for number, piece in scene.pieces.items():
        stood, stands = holds(was, number), holds(now, number)
        if number in scene.told:  # what was called and shown may be named where it left
            assert stands <= max(1, stood), f"twice: {piece[:200]}"
        if stood:
            assert holds(now, piece) or piece in behind, f"lost: {piece[:200]}"


def own_words(request: Api) -> list[str]:
    """The user's blocks of text in a request."""
    blocks = [block for message in request if message["role"] == "user" for block in message["content"]]
    return [block["text"].strip() for block in blocks if block["type"] == "text"]


def assert_words_are_the_persons(scene: Scene, before: Api, after: Api) -> None:
    words = own_words(after)
    assert words.count(YES) == own_words(before).count(YES)
    for number in scene.typed:
        assert scene.pieces[number] in words, f"not as the person's words: {scene.pieces[number][:200]}"


def goes_on(scene: Scene) -> None:
    """The next turn."""
    scene.prompt(scene.text("and now"))
    scene.answers()


def compact(scene: Scene, place: Place, way: str) -> bool:
    """Compacts it and asserts that nothing is lost; whether the answer was ours."""
    before = scene.client.api()
    ids = [block["tool_use_id"] for message in before for block in message["content"] if block["type"] == "tool_result"]
    answer = place.answer(scene.client, way, **({"clear": ids[0]} if way == "clear" else {}))
    if "rows" not in answer:
        return False
    assert answer["rows"], "an empty conversation"
    again = AT_ONCE if way == "auto" else AGAIN
    if answer.get("hand_on"):
        scene.client.compacted([*answer["rows"], *answer.get("behind", [])], again)
    else:
        scene.client.compacted(answer["rows"], again)
    assert_nothing_lost(scene, place, before, scene.client.said())
    assert_words_are_the_persons(scene, before, scene.client.said())
    return not answer.get("hand_on")


# --- the law -----------------------------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(25, 1_000))
@given(st.lists(TURNS, min_size=1, max_size=3), st.sampled_from(WAYS), st.booleans(), st.booleans(), st.sampled_from([None, 0.05]))
def test_whatever_stands_in_a_request_stands_in_the_next_or_in_the_archive(
    cycles: list[Any], way: str, is_open: bool, split: bool, target: float | None
):
    with placed(target, split=split) as (place, scene):
        for at, turns in enumerate(cycles):
            is_last = at == len(cycles) - 1
            play(scene, turns, is_open and is_last and way == "auto")
            original = scene.client.api()
            is_ours = compact(scene, place, way)
        if is_ours and not scene.is_open:
            goes_on(scene)
            undo(scene, place, original)


def undo(scene: Scene, place: Place, original: Api) -> None:
    """Undoes the last compaction and asserts that nothing is lost, and all texts are back that stood in a request before it, but for a
    counter or list of the client's of which a newer one stands: that is in the archive."""
    before = scene.client.api()
    answer = place.answer(scene.client, "undo", undo=True)
    if "rows" not in answer:
        return
    scene.client.compacted(answer["rows"])
    after = scene.client.api()
    assert_nothing_lost(scene, place, before, after)
    assert_words_are_the_persons(scene, before, after)
    texts, was, archived = said(after), said(original), "\0".join(place.archived().values())
    for number in scene.pieces.keys() - scene.media - scene.with_media:
        piece = scene.pieces[number]
        newest = scene.newest.get(scene.counted.get(number, ""), number)
        is_renewed = newest != number and any(newest in text for text in texts)
        assert not holds(was, piece) or holds(texts, piece) or (is_renewed and piece in archived), f"not put back: {piece[:200]}"


@pytest.mark.parametrize("place_of", ["in front", "behind", "merged"])
def test_a_text_of_every_type_of_attachment_is_carried_where_it_stood_or_said_again(place_of: str):
    with placed() as (place, scene):
        scene.prompt(scene.text("go"))
        scene.works()
        if place_of == "in front":
            scene.answers()
        for type in ATTACHMENTS:
            scene.attach(type, f"of {type}", place_of == "merged")
        if place_of == "in front":
            scene.prompt(scene.text("go on"))
        scene.rests()
        scene.answers()
        before = scene.client.api()
        assert compact(scene, place, "/compact")
        assert holds(said(before), "of ") >= len(ATTACHMENTS)


@pytest.mark.parametrize("way", WAYS)
def test_pictures_and_documents_leave_under_a_handle_and_no_undo_makes_them_text(way: str):
    with placed() as (place, scene):
        scene.prompt(scene.shown("image"), scene.shown("document"), scene.text("what is this?"))
        for kind in ("image", "text and document"):
            (id,) = scene.asks(("Read", {"file_path": "/shop/picture"}))
            scene.gets(id, content_of(scene, kind, "so"))
        scene.works()
        scene.rests()
        scene.answers()
        assert compact(scene, place, way)
        goes_on(scene)
        scene.client.compacted(place.answer(scene.client, "undo", undo=True).get("rows") or scene.client.rows())
        texts = [text for text in said(scene.client.api()) if any(number in text for number in scene.media)]
        assert texts == []
        shown = [block for message in scene.client.api() for block in message["content"] if block["type"] == "tool_result"][:2]
        assert all(HANDLE.search(block["content"]) for block in shown), "empty ones say nothing"


TABLES = {"server": SERVER, "unknown": UNKNOWN}
BLOCKS = [(kind, where, at) for kind, table in TABLES.items() for where in table for at in range(len(table[where]))]


@pytest.mark.parametrize(("kind", "where", "at"), BLOCKS)
@pytest.mark.parametrize("way", WAYS)
def test_server_tool_blocks_are_carried_or_declined_and_unknown_ones_declined(kind: str, where: str, at: int, way: str):
    with placed() as (place, scene):
        block = TABLES[kind][where][at]
        block = json.loads(json.dumps(block).replace("{}", scene.piece("of it").strip()))
        scene.prompt(scene.text("go"), *([block] if where == "user" else []))
        scene.works()
        (id,) = scene.asks(("Bash", {"command": "ls"}), before=(block,) if where == "assistant" else ())
        scene.gets(id, [block] if where == "result" else "so")
        scene.rests()
        scene.answers()
        is_ours = compact(scene, place, way)
        assert kind == "server" or not is_ours


@pytest.mark.parametrize("thinking", ["enabled", "adaptive"])
@pytest.mark.parametrize("is_open", [True, False])
def test_an_open_loop_that_needs_its_thinking_is_left_alone_or_ends_in_words(thinking: str, is_open: bool):
    """It is left to the client."""
    with placed(thinking=thinking) as (place, scene):
        scene.prompt(scene.text("go"))
        (id,) = scene.asks(("Bash", {"command": "ls"}), before=({"type": "thinking", "thinking": "hm", "signature": "s"},))
        scene.gets(id, "so")
        scene.works()
        scene.rests()
        if not is_open:
            scene.answers()
        is_ours = compact(scene, place, "auto")
        ends_in_results = any(block["type"] == "tool_result" for block in scene.client.api()[-1]["content"])
        if thinking == "enabled" and is_open:
            assert not is_ours or not ends_in_results
        else:
            assert is_ours


def test_messages_that_are_more_than_the_client_hands_over_are_left_to_it():
    with placed() as (place, scene):
        scene.prompt(scene.text("go"))
        scene.works()
        scene.rests()
        scene.answers()
        sent = [*({"role": "user", "content": [{"type": "text", "text": "earlier"}]} for _ in range(4_096)), *scene.client.handed()][
            -4_096:
        ]
        scene.client.handed = lambda: sent  # type: ignore[method-assign]
        assert not compact(scene, place, "/compact")


def cut(sent: Api) -> Api:
    return sent[2:]


def reworded(sent: Api) -> Api:
    return json.loads(json.dumps(sent).replace("echoed", "said"))


def without_words(sent: Api) -> Api:
    return [message for message in sent if "go on with it" not in json.dumps(message)]


def turned(sent: Api) -> Api:
    return [{**message, "role": "system"} for message in sent]


@pytest.mark.parametrize("sent_as", [cut, reworded, without_words, turned, lambda _: [], lambda _: None, lambda _: "so"])
def test_unmatched_sent_and_handed_over_messages_are_left_to_the_client(sent_as: Callable[[Api], Any]):
    with placed() as (place, scene):
        scene.prompt(scene.text("go on with it"))
        scene.works()
        scene.rests()
        scene.answers()
        sent = sent_as(scene.client.api())
        scene.client.handed = lambda: sent  # type: ignore[method-assign]
        assert not compact(scene, place, "/compact")
