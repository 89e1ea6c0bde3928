"""What `popkit doctor` finds: one named check with its level, what was seen, and what to do about it."""

from __future__ import annotations

OK, WARNING, PROBLEM = "ok", "warning", "problem"


class Check:
    """One finding. `advice` says what to do; empty where nothing is to be done."""

    __slots__ = ("advice", "facts", "level", "name", "text")

    def __init__(self, name: str, level: str, text: str, advice: str = "", **facts: object):
        self.name = name
        self.level = level
        self.text = text
        self.advice = advice
        self.facts = facts  # the same for programs

    def to_json(self) -> dict:
        return {"check": self.name, "level": self.level, "text": self.text, "advice": self.advice, **self.facts}
