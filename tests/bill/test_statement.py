"""A bill: what stands adds up, is priced as it was sent, and what was ever used is never proposed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popkit_retention.bill import costs, paid, removals
from popkit_retention.bill.costs import usd_of
from popkit_retention.bill.digest import loss_row
from popkit_retention.bill.kind_sums import shared_out
from popkit_retention.bill.limit_window import took
from popkit_retention.bill.paid import MONTH_S
from popkit_retention.bill.prompt_rows import calls_of, rows_of
from popkit_retention.bill.removals import LEAST_SESSIONS, drafts
from popkit_retention.bill.sums import by_time as summed_by_time
from popkit_retention.bill.sums import of_models, size_below
from popkit_retention.core.policy.composition import RESULT, SAID, Composition
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.lost_cache import SentRequest, losses, lost_tokens
from popkit_retention.core.policy.usage import Usage
from popkit_retention.core.state import shipped
from popkit_retention.core.state.prompt_breakdowns import parsed_breakdown
from popkit_retention.core.views.bill import hiding
from tests.bill.conversations import BASE, DOCS, LINEAR, OTHER, SERVER, Conversation, at_work, breakdown
from tests.bill.test_digests import MODELS
from tests.policy.scenario import SHIPPED

FILES = {"/shop/CLAUDE.md": "intro\n\n# Tests\n\nEvery change has one.\n\n```\n# no heading\n```\n\n## Slow ones\n\nRun at night.\n"}


def rows(calls=None, hidden=None, hooks=0, **more) -> list[dict]:
    return rows_of(parsed_breakdown(breakdown(**more)), hooks, hidden or {}, calls or {}, FILES.get)


def by_name(some: list[dict]) -> dict[str, dict]:
    return {row["name"]: row for row in some}


# --- what stands ---


def test_what_is_always_sent_is_what_the_client_counts_as_used_but_for_messages():
    assert sum(row["tokens"] for row in rows()) == breakdown()["totalTokens"]
    assert sum(row["tokens"] for row in rows(hooks=70)) == breakdown()["totalTokens"] + 70


def test_a_category_that_is_larger_than_what_is_listed_of_it_has_a_rest():
    few = by_name(rows(memoryFiles=[]))
    assert few["Memory files, not itemised"]["tokens"] == 2_000


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["name"])
def test_parts_add_up_to_their_row(row: dict):
    assert not row["parts"] or sum(part["tokens"] for part in row["parts"]) == row["tokens"]


def test_sections_of_a_file_share_its_tokens_and_what_is_fenced_is_no_heading():
    file = by_name(rows())["/shop/CLAUDE.md"]
    assert [part["name"] for part in file["parts"]] == ["before the first heading", "Tests", "Slow ones"]
    assert sum(part["tokens"] for part in file["parts"]) == 1_700


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**5), max_size=12))
def test_a_total_is_shared_out_without_a_rest(total: int, weights: list[int]):
    shares = shared_out(total, weights)
    assert len(shares) == len(weights)
    assert sum(shares) == (total if sum(weights) else 0)
    assert all(share >= 0 for share in shares)


def test_tools_that_load_on_demand_stand_nowhere_until_they_are_loaded():
    kinds = [
        {"name": "System prompt", "tokens": 100, "kind": "used"},
        {"name": "MCP tools (deferred)", "tokens": 4_700, "kind": "deferred"},
    ]
    server = by_name(rows(categories=kinds))[SERVER]
    assert (server["tokens"], server["deferred"], server["on_demand"]) == (0, True, 3_900)
    kinds.append({"name": "MCP tools", "tokens": 400, "kind": "used"})
    tools = breakdown()["mcpTools"]
    tools[3]["isLoaded"] = True
    other = by_name(rows(categories=kinds, mcpTools=tools))[OTHER]
    assert (other["tokens"], other["deferred"], [part["tokens"] for part in other["parts"]]) == (400, False, [400, 0])


# --- what the host adds, and what messages hold ---


def test_what_the_host_adds_counts_and_again_where_it_stood_already(tmp_path: Path):
    it = Conversation()
    reminder = {"type": "task_reminder", "content": [{"subject": "Look at all of it"}]}
    for _ in range(2):
        it.attach(**reminder)
        it.request()
    it.compact("the summary")
    it.attach(**reminder)
    it.attach(type="diagnostics", files=[{"uri": "a.py", "diagnostics": ["unused name"]}])
    it.attach(type="queued_command", prompt="and the other one", commandMode="prompt")
    it.attach(type="hook_system_message", content="for people")
    it.request()
    it.attach(type="diagnostics", files=["in no request yet"])
    added = it.digest(tmp_path)["added"]
    assert {name: (row[0], row[2]) for name, row in added.items()} == {"task_reminder": (3, 1), "diagnostics": (1, 0)}
    times, tokens, _, again = added["task_reminder"]
    assert (tokens, added["diagnostics"][3]) == (again * times, 0)
    assert added["diagnostics"][1] > 0


@pytest.mark.parametrize(
    "attached",
    [
        {"type": "diagnostics", "files": [{"uri": "a.py", "diagnostics": ["unused name"] * 90}]},
        {"type": "total_tokens_reminder", "text": "tokens left " * 90},
        {"type": "invoked_skills", "skills": [{"name": "tidy", "content": "sweep " * 90}]},
        {"type": "async_hook_response", "response": {"additionalContext": "beware " * 90}},
    ],
)
def test_what_a_client_attaches_in_any_form_is_in_what_the_messages_hold(attached: dict, tmp_path: Path):
    it = Conversation()
    it.request()
    it.attach(**attached)
    it.request()
    assert it.digest(tmp_path)["holds"]["added"] > 90


def test_an_addition_has_the_size_of_what_was_sent_where_the_client_tells(tmp_path: Path):
    it = Conversation()
    said = "word " * 400
    it.add("attachment", attachment={"type": "date", "date": "2026-11-28"}, rendered=[{"role": "user", "content": said}])
    it.request()
    assert it.digest(tmp_path)["added"]["date"][1] == estimate_tokens(said)


COUNTED = {
    "toolCallTokens": 174, "toolResultTokens": 4_417, "attachmentTokens": 16_981, "assistantMessageTokens": 7, "userMessageTokens": 14,
    "redirectedContextTokens": 20, "unattributedTokens": 0,
    "toolCallsByType": [{"name": "Bash", "callTokens": 145, "resultTokens": 4_365}, {"name": "Edit", "callTokens": 29, "resultTokens": 52}],
    "attachmentsByType": [{"name": "prompt_snapshot", "tokens": 14_288}, {"name": "skill_listing", "tokens": 1_707}, {"name": "date"}],
}  # fmt: skip


def test_messages_hold_what_the_client_counts_there():
    """Its copy of the system prompt and the list of skills are counted elsewhere."""
    assert parsed_breakdown(breakdown(messageBreakdown=COUNTED))["messages"] == {
        "called": 174, "added": 16_981 - 14_288 - 1_707 + 20, "wrote": 7, "said": 14, f"{RESULT}Bash": 4_365, f"{RESULT}Edit": 52,
    }  # fmt: skip


@pytest.mark.parametrize(
    "told", [None, [], "x", {}, {"toolCallTokens": "many", "toolCallsByType": [None, {"name": 5}], "attachmentsByType": {}}]
)
def test_messages_that_are_not_itemised_hold_nothing_known(told: object):
    assert parsed_breakdown(breakdown(messageBreakdown=told))["messages"] == {}


# --- use ---


def test_tools_skills_and_agents_know_when_they_were_used(tmp_path: Path):
    digest = at_work().digest(tmp_path)
    by_row = by_name(rows(calls_of([digest, digest])))
    assert (by_row[OTHER]["used"][0], by_row[SERVER]["used"]) == (2, [0, 0.0])
    assert by_name(by_row["Custom agents"]["parts"])["reviewer"]["used"][0] == 2
    assert by_row[OTHER]["used"][1] == pytest.approx(digest["ended"], abs=60)


def test_a_command_that_the_user_types_is_a_use_of_the_skill(tmp_path: Path):
    it = Conversation()
    it.command("/docs:write")
    it.request()
    skills = by_name(rows(calls_of([it.digest(tmp_path)])))["Skills"]
    assert by_name(skills["parts"])["docs:write"]["used"][0] == 1
    assert by_name(skills["parts"])["loop"]["used"][0] == 0


def test_a_call_counts_once_however_often_its_line_is_there(tmp_path: Path):
    it = Conversation()
    for _ in range(2):
        it.use("t1", "Read", {}, message="m-1")
    it.request()
    assert it.digest(tmp_path)["calls"]["Read"][0] == 1


# --- proposals ---


def test_a_server_without_a_use_and_single_tools_of_another_can_go():
    calls = {DOCS[0]: [3, 5.0]}
    proposals = removals.proposals(rows(calls), LEAST_SESSIONS)
    assert [row["name"] for row in proposals] == [SERVER, DOCS[1]]
    assert proposals[0]["key"] == "mcp__linear__"
    assert removals.proposals(rows(calls), LEAST_SESSIONS - 1) == []


@given(st.sets(st.sampled_from([*LINEAR, *DOCS])), st.booleans())
def test_nothing_that_was_ever_used_is_proposed(used: set[str], deferred: bool):
    more = {"categories": breakdown()["categories"][:2]} if deferred else {}
    proposals = removals.proposals(rows({name: [1, 1.0] for name in used}, **more), 100)
    names = {tool for row in proposals for tool in ([part["name"] for part in row["parts"]] or [row["name"]])}
    assert not names & used
    assert names == (set() if deferred else {*LINEAR, *DOCS} - used)


def test_a_large_section_with_subsections_could_be_a_skill_but_a_title_could_not():
    texts = {
        "/shop/CLAUDE.md": "# Shop\n\nintro\n\n## Deploying\n\nAsk.\n\n### At night\n\n" + "Never. " * 900 + "\n\n## Tests\n\nAlways.\n"
    }
    listed = rows_of(parsed_breakdown(breakdown()), 0, {}, {}, texts.get)
    (draft,) = drafts(listed, "/shop")
    parts = {part["name"]: part["tokens"] for part in by_name(listed)["/shop/CLAUDE.md"]["parts"]}
    assert draft == {"name": "Deploying", "file": "CLAUDE.md", "tokens": parts["Deploying"] + parts["At night"]}


def test_a_hidden_server_is_listed_nowhere():
    by_row = by_name(rows(hidden={"mcp__linear__": {}, DOCS[0]: {}}))
    assert SERVER not in by_row
    assert sum(row["tokens"] for row in by_row.values()) == breakdown()["totalTokens"] - 3_900 - 400
    assert [part["name"] for part in by_row[OTHER]["parts"]] == [DOCS[1]]


# --- dollars ---


def test_what_comes_before_the_first_word_is_the_first_prompt_less_what_was_said(tmp_path: Path):
    it = Conversation()
    assert it.digest(tmp_path)["standing"] == BASE + 2_000 - estimate_tokens("begin")


def test_texts_of_hooks_before_the_first_request_are_counted(tmp_path: Path):
    it = Conversation()
    added = {"type": "hook_success", "content": "be brief"}
    it.entries.insert(0, {**it.entries[0], "uuid": "u-h", "type": "attachment", "attachment": added})
    assert it.digest(tmp_path)["hooks"] == estimate_tokens("be brief")
    added["hookEvent"] = "UserPromptSubmit"
    digest = it.digest(tmp_path)
    assert (digest["hooks"], digest["standing"]) == (0, BASE + 2_000 - estimate_tokens("be brief") - estimate_tokens("begin"))


def test_a_token_costs_what_requests_of_a_month_read_or_write_of_it(tmp_path: Path):
    it = Conversation()
    it.request()
    it.request(reads=0)
    digest = it.digest(tmp_path)
    pace = paid.pace([{**digest, "began": digest["ended"] - 3 * 86_400}], MODELS, 15 * 86_400)
    assert pace["usd"] == pytest.approx(2 * (2 * 2.0 + 0.1) * 5e-6)
    assert (pace["requests"], pace["unpriced"]) == (6, 0)


def test_at_the_shipped_prices_a_request_costs_what_one_of_its_size_does():
    models = [shipped.models().model(id) for id in SHIPPED["models"]["by_id"]]
    sizes = {model.long_prompt_tokens for model in models if model.long_prompt_tokens is not None}
    assert sizes
    for prompt in (1, *(size + more for size in sizes for more in (0, 1)), 900_000):
        assert [model.usd(size_below(prompt) + 1) for model in models] == [model.usd(prompt) for model in models]


def test_of_an_hour_no_dollars_a_month_are_told(tmp_path: Path):
    it = Conversation()
    it.request()
    it.wait(3_600)
    it.request()
    pace = paid.pace([it.digest(tmp_path)], MODELS, MONTH_S)
    assert (pace["is_told"], pace["usd"], pace["requests"]) == (False, 0.0, 3)
    row = {"name": "jira", "kind": "server", "parts": [], "tokens": 900, "used": [0, 0.0]}
    assert "$" not in hiding(row, pace, 1.0)


def test_requests_of_a_model_without_a_price_are_reported_and_in_no_sum(tmp_path: Path):
    digest = Conversation("claude-nobody-1").digest(tmp_path)
    over_days = {**digest, "began": digest["ended"] - 3 * 86_400}
    found = {"usd": 0.0, "requests": 1, "unpriced": 1, "is_told": True}
    assert paid.pace([over_days], MODELS, MONTH_S) == found
    whole = paid.whole([digest], MODELS)
    assert (whole["usd"], whole["unpriced"], whole["requests"]) == (0.0, 1, 1)


def test_a_pause_is_apart_from_what_is_always_sent_and_both_are_in_the_whole(tmp_path: Path):
    it = Conversation()
    it.wait(4_000)
    it.request(reads=0)
    whole = paid.whole([it.digest(tmp_path)], MODELS)
    begin_tokens = estimate_tokens("begin")
    assert whole["parts"]["pauses"] == pytest.approx(22_000 * 1.9 * 5e-6)
    assert whole["parts"]["standing"] == pytest.approx((22_000 - begin_tokens) * (2.0 + 0.1) * 5e-6)
    assert whole["parts"]["output"] == pytest.approx(100 * 25e-6)


usages = st.builds(
    lambda read, created, plain, at, ttl: Usage(read + created + plain, at, "claude-opus-4-6", ttl, read, created),
    st.integers(0, 300_000), st.just(0) | st.integers(0, 300_000), st.integers(0, 300_000),
    st.floats(0, 1e5), st.sampled_from([300, 3_600]),
)  # fmt: skip
parts_lists = st.lists(st.tuples(st.sampled_from([SAID, RESULT + "Read", RESULT + "mcp__docs__find"]), st.integers(0, 9_000)), max_size=4)


def sent_of(requests: list[tuple[Usage, list[tuple[str, int]]]], standing: int) -> list[SentRequest]:
    """The requests, and before each what came into its conversation."""
    composition, sent = Composition(), []
    for usage, parts in requests:
        for kind, tokens in parts:
            composition.add(kind, tokens)
        sent.append(SentRequest(usage, output=10))
        lost = lost_tokens(sent[-2].usage, usage) if sent[1:] else 0
        sent[-1].shares = composition.sent(usage, standing, lost)
    return sent


@given(st.lists(st.tuples(usages, parts_lists), min_size=1, max_size=8), st.integers(0, 400_000))
def test_the_parts_of_a_bill_are_never_negative_and_add_up_to_what_was_used(requests, standing: int):
    sent = sent_of(requests, standing)
    lost = {id(loss.usage): loss for loss in losses(sent, lambda at: at // 86_400, MODELS)}
    used = of_models(sent, standing, lost)
    by_time, kinds_by_time = summed_by_time(sent, standing, lost)
    digest = {
        "used": used, "session": "one", "calls": {}, "cwd": "/shop", "host": "Claude Code",
        "by_time": by_time, "kinds_by_time": kinds_by_time, "by_price": [], "added": {}, "holds": {},
        "losses": [loss_row(loss) for loss in lost.values()],
    }  # fmt: skip
    whole = paid.whole([digest], MODELS)
    assert all(usd >= 0 for usd in whole["parts"].values())
    usd = sum(sum(usd_of(one, MODELS).values()) for one in used)
    assert sum(whole["parts"].values()) == pytest.approx(whole["usd"]) == pytest.approx(usd)
    assert costs.misses([digest], MODELS)["lost"]["usd"] == pytest.approx(whole["parts"]["pauses"] + whole["parts"]["lost"])
    assert sum(sum(one["cold"]) for one in used) == sum(not usage.read for usage, _ in requests)
    # What the conversation was made of is the conversation: in dollars, and in the tokens of a window of a limit.
    rows = [part for row in whole["kinds"] for part in (row, *row["parts"])]
    assert all(row["usd"] >= 0 <= row["tokens"] for row in rows)
    assert sum(row["usd"] for row in whole["kinds"]) == pytest.approx(whole["parts"]["conversation"], abs=1e-9)
    found = took([digest], 0.0, MODELS)
    assert min(row["tokens"] for row in found["kinds"]) > 0 if found["kinds"] else not found["sources"]["conversation"]
    assert sum(row["tokens"] for row in found["kinds"]) == found["sources"]["conversation"]
    assert min(found["sources"].values()) >= 0
    assert sum(found["sources"].values()) == found["tokens"]


def test_the_tools_of_a_server_are_one_row_that_opens(tmp_path: Path):
    whole = paid.whole([at_work().digest(tmp_path)], MODELS)
    server = next(row for row in whole["kinds"] if row["kind"] == "server")
    assert (server["name"], server["used"][0], [part["name"] for part in server["parts"]]) == ("plugin_docs_docs", 1, [DOCS[0]])
    assert server["usd"] == pytest.approx(sum(part["usd"] for part in server["parts"]))
    assert server["usd"] > 0
