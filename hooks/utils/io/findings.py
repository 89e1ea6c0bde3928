"""The findings of `popkit doctor`."""

from __future__ import annotations

OK, WARNING, PROBLEM = "ok", "warning", "problem"


class Check:
    """A finding of `popkit doctor`: what was looked at, its level, what was seen, and what to do (`advice`, empty where nothing is to be
    done). `facts`: the same for programs."""

    __slots__ = ("advice", "facts", "level", "name", "text")

    def __init__(self, name: str, level: str, text: str, advice: str = "", **facts: object):
        self.name = name
        self.level = level
        self.text = text
        self.advice = advice
        self.facts = facts

    def to_json(self) -> dict[str, object]:
        return {"check": self.name, "level": self.level, "text": self.text, "advice": self.advice, **self.facts}
