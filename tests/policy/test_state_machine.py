"""The engine against the naive model, step by step."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.policy.naive_model import Naive
from tests.policy.scenario import Scenario

FILES = st.sampled_from(["a.py", "b.py"])
WHOLE = 10**6


class EngineAndModel(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.engine = Scenario()
        self.model = Naive()

    def happened(self, what, **facts):
        self.model.steps.append({"what": what, "at": self.engine.at, **facts})

    def called(self, what, **facts):
        self.happened(what, id=f"T{self.engine.steps}", **facts)

    @rule(file=FILES, first=st.sampled_from([1, 10, 50]), count=st.sampled_from([1, 10, 60]))
    def reads_lines(self, file, first, count):
        self.engine.read(file, first, first + count - 1)
        self.called("read", by="Read", file=file, first=first, last=first + count - 1)

    @rule(file=FILES)
    def reads_a_file(self, file):
        self.engine.bash("cat " + file)
        self.called("read", by="cat", file=file, first=1, last=WHOLE)

    @rule(file=FILES)
    def fails_to_read_a_file(self, file):
        self.engine.read_fails(file)
        self.called("error", file=file)

    @rule(pattern=st.sampled_from(["login", "logout"]), on_the_command_line=st.booleans())
    def searches(self, pattern, on_the_command_line):
        if on_the_command_line:
            self.engine.bash("rg -n " + pattern)
        else:
            self.engine.call("Grep", {"pattern": pattern, "output_mode": "content"})
        self.called("search", pattern=pattern)

    @rule(limited_to=st.sampled_from(["", "tests/a.py", "tests/b.py"]), fails=st.booleans())
    def runs_tests(self, limited_to, fails):
        (self.engine.bash_fails if fails else self.engine.bash)(f"pytest {limited_to}".strip())
        self.called("run", target=limited_to)

    @rule(text=st.sampled_from(["41", "42"]))
    def runs_something_else(self, text):
        self.engine.bash(f"python s{self.engine.steps}.py", text)
        self.called("other", text=text)

    @rule(file=FILES)
    def edits(self, file):
        self.engine.edit(file)
        self.called("ack", file=file)

    @rule(files=st.none() | st.sets(FILES))
    def commits(self, files):
        self.engine.bash("git commit -m x", committed=None if files is None else ["/p/" + file for file in files])
        self.called("commit", files=files)

    @rule(line=st.sampled_from(["git status", "git diff", "git diff a.py", "git diff HEAD -- b.py"]))
    def looks_at_the_working_tree(self, line):
        self.engine.bash(line)
        self.called("shown", line=line, file=line[-4:] if line.endswith(".py") else "")

    @rule()
    def checks_another_commit_out(self):
        self.engine.bash("git checkout main")
        self.called("checkout")

    @rule(seconds=st.sampled_from([1, 100, 299, 300]))
    def waits(self, seconds):
        self.engine.wait(seconds)
        self.happened("tick")

    @rule()
    def ends_the_session(self):
        self.engine.end_session()
        self.happened("end")

    @precondition(lambda self: self.engine.steps)
    @rule(back=st.integers(0, 9))
    def pins(self, back):
        target = f"T{max(1, self.engine.steps - back)}"
        self.engine.pin(target)
        self.happened("pin", target=target)

    @precondition(lambda self: self.engine.state.pins)
    @rule(data=st.data())
    def unpins(self, data):
        target = data.draw(st.sampled_from(self.engine.state.pins))
        self.engine.unpin(target)
        self.happened("unpin", target=target)

    @precondition(lambda self: self.engine.steps)
    @rule(back=st.integers(0, 9))
    def clears(self, back):
        target = f"T{max(1, self.engine.steps - back)}"
        self.engine.clear(target)
        self.happened("clear", ids=[target])

    @rule()
    def is_saved_and_loaded(self):
        self.engine.save_and_load()

    @invariant()
    def the_same_results_are_live(self):
        assert set(self.engine.live) == self.model.live()

    @invariant()
    def the_others_ended_by_the_same_triggers(self):
        assert self.engine.expired == self.model.ended()


TestEngineAndModel = EngineAndModel.TestCase
TestEngineAndModel.settings = settings(settings.default, stateful_step_count=40)
