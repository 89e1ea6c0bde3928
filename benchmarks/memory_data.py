"""LoCoMo (Maharana et al., 2024) for the benchmarks of memory: for evaluation alone, never shipped."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from sections import MissingData

LOCOMO = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo10.json"
# What formulas and constants may be chosen on; the others are for reports.
TUNING = range(1, 4)
REPORT = range(4, 11)
# Single hop, several hops, time, open domain: what has an answer in the conversation.
CATEGORIES = (1, 2, 3, 4)

_PLACE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Turn:
    """What a speaker says at once; `id`: as the evidence names it, `caption`: what a picture shows that is sent with it,
    `at`: when its session began (seconds)."""

    id: str
    session: int
    speaker: str
    text: str
    caption: str
    at: float


@dataclass(frozen=True)
class Question:
    """`evidence`: the places of the turns that answer it, each once."""

    text: str
    answer: str
    category: int
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class Conversation:
    number: int
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def conversations(numbers: range, path: Path = LOCOMO) -> list[Conversation]:
    """These conversations, counted from 1, with those questions that have an answer and evidence. MissingData where there is no file."""
    if not path.exists():
        raise MissingData(f"LoCoMo is not at {path}")
    every = json.loads(path.read_text(encoding="utf-8"))
    return [_conversation(number, every[number - 1]) for number in numbers]


def _conversation(number: int, record: dict) -> Conversation:
    talk = record["conversation"]
    sessions = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
    began = {session: _seconds(talk[f"session_{session}_date_time"]) for session in sessions}
    turns = tuple(
        Turn(turn["dia_id"], session, turn["speaker"], turn["text"], turn.get("blip_caption", ""), began[session])
        for session in sessions
        for turn in talk[f"session_{session}"]
    )
    places = {turn.id: place for place, turn in enumerate(turns)}
    questions = []
    for asked in record["qa"]:
        # Some list several turns in one text, or turns that there are none of.
        named = dict.fromkeys(id for each in asked.get("evidence", ()) for id in _PLACE.findall(each) if id in places)
        if asked["category"] in CATEGORIES and named:
            evidence = tuple(places[id] for id in named)
            questions.append(Question(asked["question"], str(asked.get("answer", "")), asked["category"], evidence))
    return Conversation(number, turns, tuple(questions))


def _seconds(written: str) -> float:
    """A time as LoCoMo writes it, "1:56 pm on 8 May, 2023", taken as UTC."""
    return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=timezone.utc).timestamp()
