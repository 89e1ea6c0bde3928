"""`popkit bill` and `popkit bill misses`: what people and programs read of them, and hiding a tool on a yes."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from pathlib import Path

import pytest

from popkit_retention.bill import costs, miss_views, statement
from popkit_retention.bill.digest import digest_of
from popkit_retention.bill.paid import MONTH_S
from popkit_retention.core import text
from popkit_retention.core.operations import offers
from popkit_retention.core.state import hidden_tools, prompt_breakdowns, prompt_contents
from popkit_retention.core.views import bill as views
from popkit_retention.parallel.sources import DAMAGED, NO_CONVERSATION
from tests.bill.conversations import BASE, DOCS, OTHER, SERVER, Conversation, at_work, breakdown
from tests.bill.test_digests import MODELS
from tests.cli import inside
from tests.hosts.rollouts import worked

GOLDENS = Path(__file__).parent / "goldens"
AT = 1_790_000_000.0


class Shop:
    """A project with sessions and, where it is given, the client's breakdown of them."""

    def __init__(self, folder: Path, sessions: int = 3, known: dict | None = None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.project = self.folder / "shop"
        self.project.mkdir(parents=True)
        self.home = self.folder / "home"
        store = self.folder / "claude" / "projects" / "-shop"
        store.mkdir(parents=True)
        for number in range(sessions):
            it = at_work()
            it.entries[0]["cwd"] = str(self.project)
            it.write(store / f"s{number}.jsonl")
        self.digests = [digest_of(str(path), path.stat().st_size) for path in sorted(store.iterdir())]
        if known is not None:
            prompt_breakdowns.keep_breakdown(str(self.home), str(self.project), "s0", known, AT)

    def run(self, *words: str, inside_of: str = "."):
        environ = {"CLAUDE_CONFIG_DIR": str(self.folder / "claude"), "POPKIT_HOME": str(self.home)}
        return inside.run(["bill", *words], environ, self.project / inside_of)

    def data(self, *words: str) -> dict:
        return json.loads(self.run(*words, "--json").stdout)

    def hidden(self) -> list[str]:
        return list(hidden_tools.hidden(str(self.home), str(self.project)))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, known=breakdown())


def drawn(place: Shop, columns: int, details: bool = False, hosts: tuple[str, ...] = ()) -> str:
    """The bill as it is drawn, with the project's own path left out; of sessions of these hosts."""
    since = AT - 86_400
    bill = statement.bill_of(str(place.home), str(place.project), place.digests, since, since + MONTH_S, MODELS)
    bill["project"] = "/shop"
    bill["whole"]["hosts"] = list(hosts) or bill["whole"]["hosts"]
    lines = text.laid_out(views.lines_of(bill, AT + 7_200, details), columns)
    assert max(map(text.width, lines)) <= columns
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("columns", [40, 72, 100])
def test_people_read_what_is_always_sent_what_could_go_and_what_was_paid_for_it(columns: int, shop: Shop, golden):
    golden(GOLDENS / f"bill-{columns}.txt", drawn(shop, columns))


def test_a_session_that_began_on_another_system_is_not_of_the_folder_that_one_is_in(shop: Shop):
    path = shop.folder / "claude" / "projects" / "-shop" / "s0.jsonl"
    before = shop.data("--since", "2020-01-01")["whole"]["requests"]
    path.write_text(path.read_text().replace(json.dumps(str(shop.project)), json.dumps("C:\\Users\\dana\\shop")))
    assert shop.data("--since", "2020-01-01")["whole"]["requests"] == before * 2 // 3


def test_a_file_that_is_broken_is_named_and_the_others_count(shop: Shop):
    store = shop.folder / "claude" / "projects" / "-shop"
    (store / "broken.jsonl").write_bytes(b'{"type":"assi' + bytes(500))
    (store / "title.jsonl").write_text('{"type":"custom-title","customTitle":"prices"}\n')
    shown = shop.run(str(store)).stdout
    assert "3 conversations" in shown
    assert "1 damaged: none of its lines is understood" in shown
    assert "broken.jsonl" in "".join(shown.split()), "a long path goes on below"
    assert "1 no conversation" in shown
    assert [reason for _, reason in shop.data(str(store))["left_out"]] == [DAMAGED, NO_CONVERSATION]


def test_the_pane_offers_to_hide_and_to_defer_and_what_is_out_to_come_back(shop: Shop):
    def offered() -> list[tuple[str, str, str]]:
        since = AT - 86_400
        bill = statement.bill_of(str(shop.home), str(shop.project), shop.digests, since, since + MONTH_S, MODELS)
        return [(offer.id, offer.key, offer.sum.split(":")[0]) for offer in offers.of_bill(bill, AT)]

    again = "the same saving, and Claude still finds it when it looks for a tool"
    read = "mcp__plugin_docs_docs__read"
    assert offered() == [
        ("bill hide linear --yes", "h", "MCP server linear (3 tools)"), ("bill defer linear --yes", "k", again),
        (f"bill hide {read} --yes", "i", read), (f"bill defer {read} --yes", "l", again),
    ]  # fmt: skip
    shop.run("defer", SERVER, "--yes")
    shop.run("hide", read, "--yes")
    assert offered() == [
        ("bill show linear", "b", "it returns with the next session"), (f"bill show {read}", "c", "it returns with the next turn"),
    ]  # fmt: skip


def test_messages_hold_what_the_client_counted_last_or_what_is_estimated(shop: Shop):
    newest = max(shop.digests, key=lambda digest: digest["ended"])

    def held(at: float, session: str = newest["session"]) -> dict:
        counted = {"messageBreakdown": {"toolCallsByType": [{"name": "Bash", "resultTokens": 700}], "userMessageTokens": 300}}
        prompt_breakdowns.keep_breakdown(str(shop.home), str(shop.project), session, breakdown(**counted), at)
        messages = shop.data("--since", "2020-01-01")["messages"]
        path = shop.folder / "claude" / "projects" / "-shop" / f"{newest['session']}.jsonl"
        contents = prompt_contents.contents_of(str(shop.home), str(shop.project), str(path))
        assert {name: contents[name] for name in messages} == messages, "panel and bill say the same"
        return {"is_counted": messages["is_counted"], **{row["name"] or row["kind"]: row["tokens"] for row in messages["rows"]}}

    ended = newest["ended"]
    assert held(ended + 1) == {"is_counted": True, "Bash": 700, "said": 300}
    assert "as Claude Code counts them" in shop.run().stdout
    assert not held(ended + 1, "another")["is_counted"]
    estimated = held(ended - 1)
    assert not estimated["is_counted"]
    assert estimated["Read"] > 0
    assert re.search(r"messages hold\n.+\nSizes +estimated", shop.run().stdout)


def test_details_are_of_each_tool_and_section(shop: Shop, golden):
    golden(GOLDENS / "bill-details.txt", drawn(shop, 100, details=True))


@pytest.mark.parametrize("columns", [40, 72, 100])
def test_without_a_breakdown_it_says_what_transcripts_show_and_how_to_get_the_rest(columns: int, tmp_path: Path, golden):
    golden(GOLDENS / f"bill-unknown-{columns}.txt", drawn(Shop(tmp_path), columns))


def test_a_host_that_says_nothing_of_it_is_not_asked_for_more(tmp_path: Path):
    output = drawn(Shop(tmp_path), 100, hosts=("OpenCode",))
    assert "OpenCode does not say. Claude Code 2.1.326 or later would, in the same project." in " ".join(output.split())


@pytest.mark.parametrize(
    ("odd", "says"), [({"mcpTools": "many"}, "Partial"), ({"agents": [{"agentType": 7}]}, "Partial"), ({"categories": []}, "Of what")]
)
def test_what_was_not_understood_is_reported(odd: dict, says: str, tmp_path: Path):
    assert says in drawn(Shop(tmp_path, known=breakdown(**odd)), 100)


def test_a_later_breakdown_that_says_nothing_leaves_the_one_before_and_is_reported(shop: Shop):
    prompt_breakdowns.keep_breakdown(str(shop.home), str(shop.project), "s1", None, AT + 86_400)
    output = drawn(shop, 100)
    assert "could not be used: it is empty" in output
    assert "MCP server linear" in output


def test_programs_read_the_same_and_the_sums_agree(shop: Shop):
    data = shop.data("--since", "2020-01-01")
    assert data["tokens"] == sum(row["tokens"] for row in data["rows"]) == breakdown()["totalTokens"]
    assert sum(data["whole"]["parts"].values()) == pytest.approx(data["whole"]["usd"])
    assert [row["name"] for row in data["proposals"]] == [SERVER, DOCS[1]]
    assert data["whole"]["sessions"] == 3


def test_a_folder_below_the_project_has_its_bill(shop: Shop):
    (shop.project / "src").mkdir()
    assert "MCP server linear" in shop.run(inside_of="src").stdout


def test_named_transcripts_have_a_bill_of_their_own(shop: Shop):
    done = shop.run(str(shop.folder / "claude"))
    assert "the sessions that you named: 3 conversations, 6 requests" in " ".join(done.stdout.split())


def test_what_is_hidden_is_shown_first_and_done_on_a_yes(shop: Shop):
    shown = shop.run("hide", SERVER)
    assert "~3,900 tokens less in each prompt" in " ".join(shown.stdout.split())
    assert "Nothing was changed" in shown.stdout
    assert shop.hidden() == []
    assert "is hidden" in shop.run("hide", SERVER, "--yes").stdout
    assert shop.hidden() == ["mcp__linear__"]
    assert "hidden already" in shop.run("hide", SERVER, "--yes").stdout
    assert "Out of this project's prompts" in shop.run().stdout
    assert "is back" in shop.run("show", SERVER).stdout
    assert shop.hidden() == []


def test_what_is_deferred_is_out_of_the_prompt_and_still_found(shop: Shop):
    shown = " ".join(shop.run("defer", SERVER).stdout.split())
    assert "~3,900 tokens less in each prompt" in shown
    assert "it stays out of the prompt until Claude looks for it from the next session on" in shown
    assert f"Nothing was changed. To defer it: popkit bill defer {SERVER} --yes" in shown
    assert shop.hidden() == []
    assert f"{SERVER} is deferred from the next session on" in " ".join(shop.run("defer", SERVER, "--yes").stdout.split())
    assert f"{SERVER} is deferred already" in shop.run("defer", SERVER, "--yes").stdout
    assert f"First run: popkit bill show {SERVER}" in " ".join(shop.run("hide", SERVER, "--yes").stderr.split())
    row = next(row for row in shop.data()["rows"] if row["name"] == SERVER)
    assert (row["tokens"], row["deferred"], row["on_demand"]) == (0, True, 3_900)
    assert "), deferred since" in " ".join(shop.run().stdout.split())
    assert "Until then Claude finds it when it looks for a tool" in " ".join(shop.run("show", SERVER).stdout.split())
    assert shop.hidden() == []


def test_a_hidden_tool_whose_row_is_damaged_goes_by_what_hides_it(shop: Shop):
    """The file is checked as it is read, so that nothing behind that has to."""
    hidden_tools.hide(str(shop.home), str(shop.project), DOCS[0], {"name": 7, "tokens": "many", "at": 1e300, "defer": "yes"})
    assert shop.data()["hidden"] == {DOCS[0]: {"name": DOCS[0], "tokens": 0, "at": 0.0, "defer": True}}
    assert f"popkit bill show {DOCS[0]}" in " ".join(shop.run().stdout.split())
    assert "is back" in shop.run("show", DOCS[0]).stdout


def test_a_single_tool_can_be_hidden_and_one_that_was_used_says_so(shop: Shop):
    assert "3 times in all" in " ".join(shop.run("hide", DOCS[0]).stdout.split())
    assert list(shop.data("hide", DOCS[0], "--yes")["hidden"]) == shop.hidden() == [DOCS[0]]


def test_what_is_no_tool_is_called_what_it_is(shop: Shop):
    said = " ".join(shop.run("hide", "reviewer").stderr.split())
    assert '"reviewer" is one of the agents. Only MCP servers and their tools can be hidden. Servers:' in said


@pytest.mark.parametrize(("words", "says"), [(("hide", "jira"), f"{SERVER}, {OTHER}"), (("show", "jira"), "Nothing is")])
def test_an_unknown_name_is_refused_with_the_known_ones(words: tuple[str, str], says: str, shop: Shop):
    done = shop.run(*words)
    assert done.returncode == 1
    assert all(name in " ".join(done.stderr.split()) for name in says.split(", "))


def test_stored_files_are_readable_only_by_the_user(shop: Shop):
    shop.run("hide", SERVER, "--yes")
    kept = [path for path in (shop.home / prompt_breakdowns.BREAKDOWNS).iterdir() if path.suffix == ".json"]
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert all(prompt_breakdowns.STORAGE[0].owns(str(shop.home), f"{prompt_breakdowns.BREAKDOWNS}/{path.name}") for path in kept)


def test_a_section_becomes_a_draft_in_a_new_file_and_the_old_file_stays(shop: Shop):
    rules = "# Rules\n\nBe kind.\n\n## Deploying\n\nAsk first.\n\n### At night\n\nNever.\n\n## Tests\n\nAlways.\n"
    (shop.project / "CLAUDE.md").write_text(rules)
    done = shop.run("draft-skill", "CLAUDE.md#deploying", "--out", "draft.md")
    assert done.returncode == 0, done.stderr
    draft = (shop.project / "draft.md").read_text()
    assert draft.startswith("---\nname: deploying\ndescription: ")
    assert "### At night" in draft
    assert "Always." not in draft
    assert (shop.project / "CLAUDE.md").read_text() == rules
    (shop.project / "draft.md").unlink()
    again = shop.run("draft-skill", "CLAUDE.md#deploying", "--out", "CLAUDE.md")
    assert (again.returncode, "is left alone" in again.stderr) == (1, True)
    assert "Deploying" in shop.run("draft-skill", "CLAUDE.md#none", "--out", "x.md").stderr


def test_a_large_section_is_proposed_with_its_sum_and_the_words_that_draft_it(tmp_path: Path):
    path = str(tmp_path / "shop" / "CLAUDE.md")
    shop = Shop(tmp_path, known=breakdown(memoryFiles=[{"path": path, "type": "Project", "tokens": 1_700}]))
    Path(path).write_text("# Shop\n\n## It's live\n\n" + "Ask first. " * 500)
    words = " ".join(shop.run("--since", "2020-01-01").stdout.split())
    assert "as a skill: ~1," in words
    (draft,) = shop.data()["drafts"]
    drafting = shlex.split(views.draft_words(draft))
    assert drafting[:3] == ["popkit", "bill", "draft-skill"]
    assert shop.run(*drafting[2:]).returncode == 0
    assert "Ask first." in (shop.project / drafting[-1]).read_text()


# --- misses ------------------------------------------------------------------------------------------------------------------------------


def lost(folder: Path) -> Path:
    """A folder of two sessions that lost their caches in several ways."""
    folder.mkdir()
    one = Conversation()
    one.wait(4_000)
    one.request(reads=0, total=200_000)
    one.command("/context")
    one.request(reads=BASE)
    one.attach(type="mcp_instructions_delta", addedNames=["linear"])
    one.request(reads=BASE)
    one.write(folder / "one.jsonl")
    two = Conversation("claude-nobody-1")
    two.request(thinks=True)
    two.prompt("on")
    two.request(reads=BASE)
    two.write(folder / "two.jsonl")
    return folder


@pytest.mark.parametrize("columns", [40, 72, 100])
def test_people_read_a_table_with_the_dearest_cause_first(columns: int, tmp_path: Path, golden):
    lost_caches = costs.misses(
        [digest_of(str(path), path.stat().st_size) for path in sorted(lost(tmp_path / "sessions").iterdir())], MODELS
    )
    lines = text.laid_out(miss_views.misses(lost_caches, "sessions since 2026-10-25", "2026-11"), columns)
    assert max(map(text.width, lines)) <= columns
    golden(GOLDENS / f"misses-{columns}.txt", "\n".join(lines) + "\n")


def test_the_command_prints_it(tmp_path: Path):
    done = inside.run(["bill", "misses", str(lost(tmp_path / "sessions"))], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Tools or servers came or went: linear" in done.stdout


def test_programs_read_the_same(tmp_path: Path):
    done = inside.run(["bill", "misses", "--json", str(lost(tmp_path / "sessions"))], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    data = json.loads(done.stdout)
    assert [row["cause"] for row in data["causes"]] == ["tools", "command", "pause", "unknown"]
    assert data["lost"]["tokens"] == sum(row["tokens"] for row in data["causes"])
    assert data["prices_of"]


def of_codex(folder: Path) -> Path:
    """A session of Codex, which reports no writes, with a pause after which nothing was read."""
    rollout = worked()
    rollout.now, rollout.read = rollout.now + 2 * 86_400, 0
    rollout.answer("done")
    return rollout.write(folder)


@pytest.mark.parametrize("sessions", [lost, of_codex])
def test_the_bill_has_what_was_sent_again_at_the_price_that_misses_name(sessions, tmp_path: Path):
    folder, environ = str(sessions(tmp_path / "sessions")), {"POPKIT_HOME": str(tmp_path / "home")}
    whole, misses = (
        json.loads(inside.run([*words, "--json", folder], environ, tmp_path).stdout) for words in (["bill"], ["bill", "misses"])
    )
    parts, causes = whole["whole"]["parts"], {row["cause"]: row["usd"] for row in misses["causes"]}
    assert parts["pauses"] == pytest.approx(causes["pause"])
    assert parts["lost"] == pytest.approx(misses["lost"]["usd"] - causes["pause"])
    assert (whole["whole"]["usd"], whole["whole"]["requests"]) == (pytest.approx(misses["usd"]), misses["requests"])


def test_without_a_request_no_pace_is_told(tmp_path: Path) -> None:
    shown = " ".join(Shop(tmp_path, sessions=0, known=breakdown()).run().stdout.split())
    assert "dollars unknown, as there was no request in this time" in shown
    assert "pace of 0 requests" not in shown


def test_the_user_s_own_sessions_are_read_where_no_file_is_named(tmp_path: Path):
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    lost(tmp_path / "claude" / "projects" / "-shop")
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "POPKIT_HOME": str(tmp_path / "home")}
    data = json.loads(inside.run(["bill", "misses", "--json", "--since", "2020-01-01"], environ, tmp_path).stdout)
    assert (data["sessions"], data["lost"]["times"]) == (2, 4)
    none = inside.run(["bill", "misses", "--since", "2199-01-01"], environ, tmp_path).stdout
    assert "There was no request in this time." in none


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    done = inside.run(["bill", "misses", str(tmp_path / "none.jsonl")], {"POPKIT_HOME": str(tmp_path / "home")}, tmp_path)
    assert (done.returncode, "none.jsonl" in done.stderr.replace("\n  ", "")) == (1, True)  # a long path goes on in the next line
