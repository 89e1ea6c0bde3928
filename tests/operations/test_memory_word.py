"""`memory` after /popkit:context: on and off are answered at once, every other word by `popkit memory` in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from popkit_retention.core import text
from popkit_retention.core.io.home import GOVERNANCE
from popkit_retention.core.io.system import day_of
from popkit_retention.core.operations import memory_switch
from popkit_retention.core.operations.context_words import answer
from popkit_retention.core.state import marked, memory, memory_alerts
from popkit_retention.core.state.site import Site
from popkit_retention.core.views.marks import marks
from tests.hooks import payloads
from tests.hooks.processes import Home, copy_hooks, feed, finish, start_argv

NOW = 1_790_000_000.0
GOLDENS = Path(__file__).parent / "goldens"
# Stands in for the command line: tells how it was called.
TELLS = """
import json, os, sys
if sys.argv[1:] == ["memory", "fail"]:
    sys.exit("popkit memory: no such thing")
told = [os.environ[name] for name in ("POPKIT_HOME", "CLAUDE_CODE_SESSION_ID", "POPKIT_CALLED_AS")]
print(json.dumps([sys.argv[1:], os.getcwd(), *told, sys.stdin.read()]))
print("\\x1b[31mred")
if sys.argv[2:] == ["long"]:
    print("line\\n" * 1_000)
"""


class Asking:
    """A session in a project whose hooks stand beside a `popkit` of the test's."""

    def __init__(self, folder: Path):
        self.home = Home(folder)
        self.work = folder / "shop"
        (self.work / ".git").mkdir(parents=True)
        self.hooks = folder / "plugin" / "hooks"

    def site(self) -> Site:
        return Site(self.home.env(), payloads.SESSION, str(self.work))

    def answer(self, words: str) -> str:
        """The answer that the hook on a prompt gives."""
        copy_hooks(self.hooks)
        (self.hooks / "popkit.py").write_text(TELLS)
        process = start_argv([sys.executable, "-S", "-E", str(self.hooks / "context-monitor.py")], self.home.env())
        feed(process, payloads.prompt(f"/popkit:context {words}", cwd=str(self.work)))
        ran = finish(process)
        assert ran.failed_open, ran
        return json.loads(ran.stdout)["reason"]


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def test_on_and_off_say_what_happens_what_it_costs_where_it_is_and_how_to_undo_it(asking: Asking):
    project = memory.project_of(str(asking.home.path), str(asking.work))
    output = answer("memory on", asking.site(), "", NOW)
    assert project.is_on()
    joined = " ".join(output.split())
    assert "Memory is on for shop" in joined
    assert "at most 500 tokens" in joined
    assert "To switch it off: /popkit:context memory off" in joined
    assert project.folder in output.replace("\n", "")
    assert f"{asking.home.path}/memory.sqlite" in output.replace("\n", "")
    assert "nothing leaves this machine" in joined
    assert max(map(text.width, output.split("\n"))) <= text.WIDTH
    assert "Memory is already on" in answer("memory on", asking.site(), "", NOW)
    output = answer("memory off", asking.site(), "", NOW)
    assert "Memory is off for shop" in output
    assert f"{asking.home.path}/memory.sqlite" in output.replace("\n", ""), "where what is remembered stays"
    assert not project.is_on()
    assert "Memory is already off" in answer("memory off", asking.site(), "", NOW)


def test_on_answers_with_data_too(asking: Asking):
    data = json.loads(answer("memory on --json", asking.site(), "", NOW))
    assert (data["on"], data["changed"], data["project"], data["tokens"]) == (True, True, "shop", 500)


def test_the_budget_that_is_shown_is_the_one_that_is_configured(asking: Asking):
    asking.home.path.mkdir()
    (asking.home.path / "retention-config.json").write_text('{"memory": {"tokens": 900}}')
    assert "at most 900 tokens" in " ".join(answer("memory on", asking.site(), "", NOW).split())


@pytest.mark.parametrize(
    ("configured", "sentence"),
    [
        ('{"store": "neo4j://graph.example:7687"}', "What is remembered is sent to that server alone (memory.store)"),
        ('{"summariser": "shorten --words 50"}', "Your own summariser (memory.summariser) is given texts"),
    ],
)
def test_on_says_who_else_sees_what_is_remembered(asking: Asking, configured: str, sentence: str):
    asking.home.path.mkdir()
    (asking.home.path / "retention-config.json").write_text(f'{{"memory": {configured}}}')
    output = " ".join(answer("memory on", asking.site(), "", NOW).split())
    assert sentence in output
    assert "nothing leaves this machine" not in output


def test_where_nothing_can_be_written_the_answer_says_so(asking: Asking):
    asking.home.path.mkdir()
    (asking.home.path / memory.FOLDER).write_text("")
    assert "Not a directory" in answer("memory on", asking.site(), "", NOW)


def test_every_other_word_is_passed_on_unchanged(asking: Asking):
    lines = asking.answer("memory admin search 'two words; rm -rf $HOME' --most 3 --json").strip().split("\n")
    assert json.loads(lines[0]) == [
        ["memory", "admin", "search", "two words; rm -rf $HOME", "--most", "3", "--json"],
        str(asking.work), str(asking.home.path), payloads.SESSION, "/popkit:context memory", "",
    ]  # fmt: skip
    assert lines[1] == "\\x1b[31mred", "nothing that a terminal would obey"


def test_a_mistake_is_shown(asking: Asking):
    assert asking.answer("memory fail").strip() == "popkit memory: no such thing"


def test_a_long_answer_is_cut(asking: Asking):
    lines = asking.answer("memory long").strip().split("\n")
    assert len(lines) < 500
    assert lines[-1].startswith("… 602 more lines: ")


def test_what_cannot_be_started_is_reported(asking: Asking):
    code, output, errors = memory_switch.ask(["list", "\0"], asking.site(), "popkit context")
    assert (code, output) == (1, "")
    assert errors.startswith("popkit memory could not be started: ")


def test_help_names_the_words_that_follow(asking: Asking):
    assert "memory [on|off|WORD…]" in answer("help memory", asking.site(), "", NOW)


def test_the_panel_says_once_what_is_about_to_be_forgotten(asking: Asking):
    site = asking.site()
    project = memory.project_of(str(asking.home.path), str(asking.work))
    assert "forgotten" not in answer("", site, "", NOW)
    project.turn_on(NOW)
    memory_alerts.set_alerts(project, {"m1": NOW + 86_400, "m2": NOW + 2 * 86_400})
    assert "forgotten" not in answer("retention --json", site, "", NOW)
    panel = " ".join(answer("", site, "", NOW).split())
    assert f"2 valuable memories will be forgotten by {day_of(NOW + 2 * 86_400)}: /popkit:context memory status" in panel
    assert "forgotten" not in answer("", site, "", NOW)
    memory_alerts.set_alerts(project, {"m1": NOW + 86_400, "m3": NOW + 86_400})
    assert "1 valuable memory will be forgotten by" in answer("", site, "", NOW)


def test_alerts_that_cannot_be_read_are_no_alerts(asking: Asking):
    project = memory.project_of(str(asking.home.path), str(asking.work))
    project.turn_on(NOW)
    for content in ("[", '{"due": 3, "told": []}', '{"due": {"m1": "soon"}, "told": [7]}'):
        Path(project.folder, memory_alerts.ALERTS).write_text(content)
        assert "forgotten" not in answer("", asking.site(), "", NOW)


# --- what others have marked -----------------------------------------------------------------------------------------------------------


def mark(asking: Asking, part: str, by: str, count: int, left: float, project: str = "") -> None:
    key = project or memory.project_of(str(asking.home.path), str(asking.work)).repository.key
    marks = [(key, by, f"m{number}", NOW + left + number) for number in range(1, count + 1)]
    marked.replace_marked(str(asking.home.path), part, lambda: marked.marked_rows(marks))


def test_the_panel_shows_what_tools_and_the_job_have_marked(asking: Asking, golden):
    mark(asking, marked.FORGOTTEN, "tool", 3, 23 * 3_600)
    mark(asking, marked.RAG, "job", 1_212, 5 * 3_600)
    mark(asking, marked.MEMORY, "job", 1, -60)
    panel = answer("", asking.site(), "", NOW)
    assert panel == answer("", asking.site(), "", NOW)  # until it is no longer so
    golden(GOLDENS / "marked.txt", panel[: panel.index("Retention status")])
    assert "marked" not in answer("retention --json", asking.site(), "", NOW)


def test_other_projects_are_not_notified(asking: Asking):
    mark(asking, marked.FORGOTTEN, "tool", 3, 60, project="other-0123456789ab")
    assert "marked" not in answer("", asking.site(), "", NOW)


def test_many_are_listed_elsewhere_and_so_are_those_that_no_shell_reads_as_they_are():
    row = {"project": "p", "by": "tool", "count": 6, "ids": ["m1", "m2", "m3", "m4", "m5"], "first": NOW + 60}
    for ids, count in ((row["ids"], 6), (["m1", "m 2"], 2), (["$(reboot)"], 1), (["m" * 200], 1)):
        lines = text.laid_out(marks(marked.FORGOTTEN, {**row, "ids": ids, "count": count}, NOW, "popkit memory"))
        assert lines[-1] == "  popkit memory list --marked"
    assert text.laid_out(marks(marked.FORGOTTEN, {**row, "count": 5}, NOW, "popkit memory"))[-1] == "  popkit memory undo m1 m2 m3 m4 m5"


@pytest.mark.parametrize(
    "content",
    ["", "[", "[]", '{"version": 9, "parts": {"rag": []}}', '{"version": 1}', '{"version": 1, "parts": {"rag": 5}}',
     '{"version": 1, "parts": {"rag": [5, {}, {"project": "KEY", "by": "me", "count": 1, "first": 1, "ids": []}]}}',
     '{"version": 1, "parts": {"rag": [{"project": "KEY", "by": "job", "count": true, "first": 1, "ids": []}]}}',
     '{"version": 1, "parts": {"rag": [{"project": "KEY", "by": "job", "count": 1, "first": 1, "ids": [1]}]}}'],
)  # fmt: skip
def test_marks_that_cannot_be_read_are_none(asking: Asking, content: str):
    folder = Path(asking.home.path) / GOVERNANCE
    folder.mkdir(parents=True)
    key = memory.project_of(str(asking.home.path), str(asking.work)).repository.key
    (folder / marked.MARKED_FILE).write_text(content.replace("KEY", key))
    assert "marked" not in answer("", asking.site(), "", NOW)
