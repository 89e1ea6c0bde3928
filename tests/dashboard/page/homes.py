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
        for number in range(many):
            project = PROJECTS[number % len(PROJECTS)]
            talk = Talk(f"{self.folder}/{project}", session_id=f"0ther{number:03}-0000-4000-8000-000000000000")
            talk.prompt(f"errand {number}: look at the orders")
            talk.bash(f"ls-{number}", "ls", "orders.ts\n" * 20)
            talk.say("Done.")
            path = self.claude / "projects" / f"-{project}" / f"{talk.session_id}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            talk.write(path)
            spoke(path, BEGAN - 3_600 * number)
        return self
