"""Homes for the page: one session with results of every fate, and many others where a test wants many."""

from __future__ import annotations

from tests.reclaim.shops import BEGAN, SESSION, Shop, Talk, spoke, worked

PLACE = f"#/session/{SESSION}"
FOLDED = 11  # rows of its timeline: T2 to T4 are one, and T9 to T30
PROJECTS = ("shop", "api", "website")


class Home(Shop):
    """A shop whose sessions a dashboard shows. Its clock stands still, a while after the last line of its session."""

    def with_session(self) -> Home:
        self.write(worked(str(self.project)))
        spoke(self.transcript, self.at)
        return self

    def with_others(self, many: int) -> Home:
        """So many short sessions of the days before, in three projects, each with words of its own."""
        template = self._other()
        for number in range(many):
            project = PROJECTS[number % len(PROJECTS)]
            path = self.claude / "projects" / f"-{project}" / f"0ther{number:03}-0000-4000-8000-000000000000.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(template.replace("0ther-id", path.stem).replace("0ther-place", project).replace("0ther-errand", str(number)))
            spoke(path, BEGAN - 3_600 * number)
        return self

    def _other(self) -> str:
        """The transcript of one of them, with names in the places of what they differ in."""
        talk = Talk(f"{self.folder}/0ther-place", session_id="0ther-id")
        talk.prompt("errand 0ther-errand: look at the orders")
        talk.bash("ls-0ther-errand", "ls", "orders.ts\n" * 20)
        talk.say("Done.")
        path = self.folder / "other.jsonl"
        talk.write(path)
        return path.read_text()
