"""The rules in their plainest form: a list of everything that happened, gone through from each result's birth on, every time."""

from __future__ import annotations

TTL_CALLS = {"search": 5, "ack": 1, "commit": 1}
TTL_SECONDS = {"search": 300}


class Naive:
    """Which results are live, and what ended the others. A step is a dict with `what`; those that are calls have an `id` too."""

    def __init__(self):
        self.steps: list[dict] = []

    def live(self) -> set[str]:
        return {step["id"] for n, step in enumerate(self.steps) if "id" in step and self._end(n) is None}

    def ended(self) -> dict[str, str]:
        ends = {step["id"]: self._end(n) for n, step in enumerate(self.steps) if "id" in step}
        return {id: end for id, end in ends.items() if end}

    def _end(self, born: int) -> str | None:
        me, age, pinned, end = self.steps[born], 0, False, None
        for later in self.steps[born + 1 :]:
            age += "id" in later
            if later["what"] == "pin" and later["target"] == me["id"]:
                pinned = True
            elif later["what"] == "unpin" and later["target"] == me["id"]:
                pinned = False
            elif end is None and not pinned:
                end = self._ends(me, later, age)
        return None if pinned else end

    def _ends(self, me: dict, later: dict, age: int) -> str | None:
        kind, what = me["what"], later["what"]
        if what == "clear" and me["id"] in later["ids"]:
            return "manual"
        if kind == "error":  # preserved
            return "superseded" if what == "read" and later["by"] == "Read" and later["file"] == me["file"] else None
        if kind == "read" and what == "ack" and later["file"] == me["file"]:
            return "edited"
        if kind == "read" and what == "commit" and (later["files"] is None or me["file"] in later["files"]):
            return "committed"
        if kind == "shown":  # by git, of the working tree
            if what == "ack" and me["file"] in ("", later["file"]):
                return "edited"
            if what in ("commit", "checkout"):
                return "committed" if what == "commit" else "changed_on_disk"
        if kind == what and self._covers(later, me):
            return "superseded"
        if kind == what and "text" in me and later["text"] == me["text"]:
            return "same_content"
        if "id" in later and age >= TTL_CALLS.get(kind, 10**9):
            return "ttl_calls"
        if later["at"] - me["at"] >= TTL_SECONDS.get(kind, 10**9) and ("id" in later or what == "tick"):
            return "ttl_seconds"
        return "session_end" if what == "end" and kind in ("run", "other", "shown", "checkout") else None

    def _tree(self, run: dict) -> bool:
        """Whether another branch had been checked out before."""
        return any(step["what"] == "checkout" for step in self.steps[: self.steps.index(run)])

    def _covers(self, new: dict, old: dict) -> bool:
        if new["what"] == "read":
            return new["file"] == old["file"] and new["first"] <= old["first"] and old["last"] <= new["last"]
        if new["what"] == "search":
            return new["pattern"] == old["pattern"]
        if new["what"] == "shown":
            return new["line"] == old["line"] or (new["line"] == "git diff" and old["line"] == "git diff a.py")
        if new["what"] == "run":
            return new["target"] in ("", old["target"]) and self._tree(new) == self._tree(old)
        return new["what"] == "checkout" or (new["what"] == "ack" and new["file"] == old["file"])
