"""`popkit retention`: policies, holds, the log and what agents ask for, each word on a home of its own; one of each kind in a process of
its own, too."""

from __future__ import annotations

import json

import pytest

from popkit_retention.core.io import repository
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import TOOL
from popkit_retention.governance.operations import LISTED, RETENTION
from tests.cli.governed import GOLDENS, Governed
from tests.cli.remembered import DAY_S, fits, unwrapped

DEFAULTS = {
    "older_than_days": 30, "source_types": ["context", "action", "thought"], "keep_session_ids": [], "keep_context_ids": [],
    "limit": 5_000, "vacuum": False, "auto_gc": False,
}  # fmt: skip


# --- words -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [word.called for word in RETENTION.operations])
def test_every_word_has_help(house: Governed, word: str) -> None:
    shown = house.retention("help", *word.split())
    assert shown == house.retention(*word.split(), "--help") or word == "help"
    assert shown.startswith(f"popkit retention {word}")
    assert fits(shown)


def test_the_overview_names_every_word(house: Governed, golden) -> None:
    shown, below = house.retention("help"), house.retention("admin")
    assert all(f"  {word.usage()}" in shown for word in RETENTION.operations if not word.admin)
    assert all(f"  {word.usage(word.name)}" in below and f" {word.name}" in shown for word in RETENTION.operations if word.admin)
    assert shown == house.popkit("help", "retention").stdout
    assert fits(shown)
    golden(GOLDENS / "help.txt", shown)


def test_without_a_word_the_current_state_is_shown(house: Governed) -> None:
    assert house.retention() == house.retention("show")


def test_a_query_leaves_nothing_behind(house: Governed) -> None:
    for words in (
        ["show"],
        ["admin", "history"],
        ["apply", "--dry-run"],
        ["admin", "archives"],
        ["hold", "list"],
        ["admin", "verify"],
        ["admin", "log"],
        ["gc", "--dry-run"],
    ):
        house.retention(*words)
    assert not (house.home / "data").exists()
    assert not list(house.home.rglob("*.sqlite"))


@pytest.mark.parametrize(
    "words", [["show"], ["admin", "log", "--json"], ["set", "memory.limit=7"], ["set", "memory.limit=many"], ["gc", "--yes"]], ids=str
)
def test_in_a_process_of_its_own_a_word_says_the_same(house: Governed, words: list) -> None:
    house.retention("set", "memory.older_than_days=90")
    house.add("run the tests with make check")
    house.now += 365 * DAY_S
    house.same_alone("retention", *words)


# --- policies --------------------------------------------------------------------------------------------------------------------------


def test_the_policies_are_the_defaults_until_somebody_sets_them(house: Governed) -> None:
    assert house.policy("memory") == house.policy("rag") == DEFAULTS
    assert house.answers("admin", "history") == {"versions": []}


@pytest.mark.parametrize(
    ("words", "memory", "rag"),
    [
        ("memory.older_than_days=90", {"older_than_days": 90}, {}),
        ("memory.auto_gc=on rag.vacuum=yes rag.older_than_days=0.5e1", {"auto_gc": True}, {"vacuum": True, "older_than_days": 5}),
        ("--domain rag older_than_days=7 rag.limit=9", {}, {"older_than_days": 7, "limit": 9}),
    ],
)
def test_what_is_named_is_set_and_nothing_else(house: Governed, words: str, memory: dict, rag: dict) -> None:
    shown = house.retention("set", *words.split())
    assert all(
        f"older_than_days = {policy['older_than_days']} (was 30)" in shown for policy in (memory, rag) if "older_than_days" in policy
    )
    assert (house.policy("memory"), house.policy("rag")) == ({**DEFAULTS, **memory}, {**DEFAULTS, **rag})


def test_lists_are_set_added_to_and_taken_from(house: Governed) -> None:
    house.retention("set", "rag.keep_session_ids=a,b", "rag.keep_context_ids=7, 8", "rag.source_types-=thought")
    assert house.policy("rag") == {
        **DEFAULTS, "keep_session_ids": ["a", "b"], "keep_context_ids": [7, 8], "source_types": ["context", "action"],
    }  # fmt: skip
    house.retention("set", "rag.keep_session_ids+=c,b", "rag.keep_session_ids-=a", "rag.keep_context_ids=")
    assert (house.policy("rag")["keep_session_ids"], house.policy("rag")["keep_context_ids"]) == (["b", "c"], [])


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("memory.older_than_days=-3", "memory.older_than_days must be from 1 to 3,650, not -3"),
        ("memory.older_than_days=9999", "must be from 1 to 3,650, not 9,999"),
        ("memory.older_than_days=1e308", "must be from 1 to 3,650"),
        ("memory.limit=-5", "memory.limit must be a whole number from 1 to 20,000, not -5"),
        ("rag.limit=1.5", "rag.limit must be a whole number from 1 to 20,000, not 1.5"),
        ("memory.source_types=context,video", "memory.source_types can hold context, action, thought"),
        ("memory.source_types=", "memory.source_types must name at least one of"),
    ],
)
def test_a_value_out_of_bounds_is_refused_and_nothing_is_set(house: Governed, word: str, why: str) -> None:
    shown = house.refused("set", "memory.vacuum=true", word)
    assert why in " ".join(shown.split())
    assert "Nothing was set" in shown
    assert house.policy("memory") == DEFAULTS


def test_an_id_that_is_named_twice_is_held_once(house: Governed) -> None:
    house.retention("set", "rag.keep_session_ids=a,a", "rag.keep_context_ids=7,7")
    assert (house.policy("rag")["keep_session_ids"], house.policy("rag")["keep_context_ids"]) == (["a"], [7])


def test_history_lists_every_revision_and_rollback_goes_back_to_one(house: Governed) -> None:
    house.retention("set", "memory.older_than_days=90")
    house.now += DAY_S
    house.retention("set", "rag.limit=9")
    house.now += DAY_S
    shown = house.retention("admin", "history")
    assert "Revision 2: rag, 24 h ago, by you" in shown
    assert "memory.older_than_days = 90 (was 30)" in shown
    assert "The policies of revision 0 are back, as revision 3." in house.retention("admin", "rollback", "0")
    assert house.policy("memory") == house.policy("rag") == DEFAULTS
    assert "Nothing changed" in house.retention("admin", "rollback", "0")
    house.retention("admin", "rollback", "2", "--domain", "rag")
    assert (house.policy("memory"), house.policy("rag")) == (DEFAULTS, {**DEFAULTS, "limit": 9})
    assert [each["revision"] for each in house.answers("admin", "history", "--domain", "rag")["versions"]] == [4, 3, 2]


def test_a_damaged_policies_file_is_rewritten_by_rollback(house: Governed) -> None:
    house.retention("set", "memory.older_than_days=90")
    path = house.home / "data" / "state" / "retention-policies.json"
    path.write_text("{")
    assert "popkit retention admin rollback" in house.refused("show")
    assert "has been written again" in house.retention("admin", "rollback", "1")
    assert house.policy("memory")["older_than_days"] == 90


def test_the_log_has_everything_newest_first_and_verify_proves_it(house: Governed) -> None:
    house.retention("set", "memory.limit=7")
    house.retention("apply")
    house.retention("apply", "--dry-run")
    assert [entry["action"] for entry in house.answers("admin", "log")["entries"]] == ["applied", "applied", "configured"]
    assert [entry["domain"] for entry in house.answers("admin", "log", "--action", "applied", "--domain", "rag")["entries"]] == ["rag"]
    assert [entry["number"] for entry in house.answers("admin", "log", "--most", "1")["entries"]] == [3]
    assert house.retention("admin", "log", "--id", "mnone") == "The log has no such entry.\n"
    answer = house.answers("admin", "verify")
    assert (answer["ok"], answer["problems"], answer["log_entries"]) == (True, [], 3)
    assert house.retention("admin", "verify").startswith("Everything is as it was written")


def test_a_change_of_the_file_by_others_is_detected(house: Governed) -> None:
    house.retention("set", "memory.older_than_days=90")
    path = house.home / "data" / "state" / "retention-policies.json"
    path.write_text(path.read_text().replace("90", "91"))
    shown = house.retention("admin", "verify", code=1)
    assert "Broken: policies: the policy of memory is not what was configured" in " ".join(shown.split())
    assert house.answers("admin", "verify", code=1)["ok"] is False


# --- what they say of things -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def aged(house: Governed) -> Governed:
    """A memory of a year ago, and one of today; another that is a key decision."""
    house.add("run the tests with make check before you commit")
    house.add("ids are UUIDs of version 7", "--key")
    house.now += 365 * DAY_S
    house.add("deploy with make ship")
    return house


def id_of(house: Governed, words: str) -> str:
    return next(id for id, item in house.items().items() if words in item["text"])


def test_apply_says_what_may_go_and_what_is_protected_and_why(aged: Governed) -> None:
    shown = aged.retention("apply", "--domain", "memory")
    assert "Eligible   1: older than 30 days" in shown
    assert "run the tests with make check" in shown
    assert "1: younger than 30 days" in shown
    assert "1: pinned" in shown
    (domain,) = aged.answers("apply", "--domain", "memory", "--dry-run")["domains"]
    assert [each["id"] for each in domain["eligible"]] == [id_of(aged, "make check")]
    assert domain["eligible"][0]["reasons"] == ["older_than_retention_period"]
    assert len(aged.items()) == 3, "nothing is deleted"
    assert shown.endswith("  popkit retention gc --dry-run\n")


def test_a_list_shows_the_words_of_each_thing_and_says_how_many_it_leaves_out(house: Governed) -> None:
    def shown(*words: str) -> list[tuple[int, bool]]:
        """Of each list: how many things it shows with their words, and whether it says that there are two more."""
        lists = [house.retention(word, "--dry-run", *words) for word in ("apply", "gc")]
        return [(each.count("with make"), "… 2 more; --all lists them" in each) for each in lists]

    for number in range(LISTED + 1):
        house.add(f"deploy part{number} with make")
    house.now += 365 * DAY_S
    assert shown() == [(LISTED + 1, False)] * 2, "the last one takes the line that would say 1 more"
    house.now -= 365 * DAY_S
    house.add("deploy the last part with make")
    house.now += 365 * DAY_S
    assert shown() == [(LISTED, True)] * 2
    assert shown("--all") == [(LISTED + 2, False)] * 2


def test_show_names_what_may_be_deleted_within_a_week(aged: Governed) -> None:
    assert "Soon" not in aged.retention("show")
    aged.now += 24 * DAY_S
    shown = aged.retention("show")
    assert "Soon       1 of those may be deleted within 7 days, the first in 6" in shown, shown
    (memory, _) = aged.answers("show")["domains"]
    assert memory["soon"]["count"] == 1
    aged.now += 7 * DAY_S
    assert "Soon" not in aged.retention("show"), "now it is eligible"


def test_explain_says_which_rule_since_when_and_what_comes_next(aged: Governed) -> None:
    old, young = id_of(aged, "make check"), id_of(aged, "make ship")
    shown = aged.retention("explain", old[:6])
    assert "Because    older than 30 days" in shown
    assert "Next       the next collection marks it; 24 h later it can be deleted" in shown
    shown = aged.retention("explain", young)
    assert "Because    younger than 30 days" in shown
    assert "it may be deleted in 30 days, unless it is used before" in shown
    assert aged.answers("explain", old)["reasons"] == ["older_than_retention_period"]


# --- holds -----------------------------------------------------------------------------------------------------------------------------


def test_a_hold_keeps_what_the_policy_would_let_go_until_it_is_released(aged: Governed) -> None:
    old = id_of(aged, "make check")
    (hold,) = aged.answers("hold", "add", old[:6], "--why", "audit", "--who", "alice", "--until", "30d")["holds"]
    assert (hold["domain"], hold["scope"], hold["target"], hold["who"], hold["why"]) == ("memory", "item", old, "alice", "audit")
    assert "alice: audit, until" in aged.retention("explain", old)
    assert aged.answers("apply", "--domain", "memory")["domains"][0]["eligible"] == []
    assert hold["id"] in aged.retention("hold")
    assert hold["id"] in aged.retention("hold", "list", "--domain", "memory")
    assert "No hold" in aged.retention("hold", "list", "--domain", "rag")
    aged.retention("hold", "release", hold["id"])
    assert "No hold" in aged.retention("hold", "list")
    assert "(released" in aged.retention("hold", "list", "--all")
    assert len(aged.answers("apply", "--domain", "memory")["domains"][0]["eligible"]) == 1


def test_a_hold_ends_by_itself_at_its_date(aged: Governed) -> None:
    old = id_of(aged, "make check")
    aged.retention("hold", "add", old, "--why", "audit", "--until", "30d")
    aged.now += 31 * DAY_S
    assert "No hold" in aged.retention("hold", "list")
    assert "(over)" in aged.retention("hold", "list", "--all")


def test_a_hold_of_a_project_or_a_session_is_about_both_domains(aged: Governed) -> None:
    holds = aged.answers("hold", "add", "--project", str(aged.project), "--why", "audit")["holds"]
    assert {(hold["domain"], hold["scope"]) for hold in holds} == {("memory", "project"), ("rag", "project")}
    assert aged.answers("apply", "--domain", "memory")["domains"][0]["eligible"] == []
    (hold,) = aged.answers("hold", "add", "--session", "first", "--why", "audit", "--domain", "rag")["holds"]
    assert (hold["scope"], hold["target"]) == ("session", "first")


def test_a_session_whose_transcript_is_gone_is_known_by_what_it_left(house: Governed) -> None:
    transcript = house.session("5e551017-one")
    house.memory("admin", "learn", str(transcript))
    transcript.unlink()
    holds = house.answers("hold", "add", "--session", "5e55", "--why", "audit")["holds"]
    assert {hold["target"] for hold in holds} == {"5e551017-one"}
    assert house.answers("apply", "--domain", "memory", "--dry-run")["domains"][0]["protected"][0]["reasons"][0] == "on_hold"


def test_a_project_whose_folder_is_gone_is_known_by_what_it_left(house: Governed) -> None:
    gone = house.project.parent / "gone"
    gone.mkdir()
    house.ask("add", "ids are UUIDs of version 7", cwd=gone)
    gone.rmdir()
    assert "Nothing is stored for it" in house.refused("hold", "add", "--project", str(gone) + "-by", "--why", "audit")
    house.retention("hold", "add", "--project", str(gone), "--why", "audit")
    assert house.answers("apply", "--domain", "memory", "--dry-run")["domains"][0]["protected"][0]["reasons"][0] == "on_hold"


def test_a_session_may_be_named_by_the_beginning_of_its_id(house: Governed) -> None:
    for id in ("5e551017-one", "5e551017-two", "7a000000-x"):
        house.session(id)
    holds = house.answers("hold", "add", "--session", "7a", "--why", "audit")["holds"]
    assert {hold["target"] for hold in holds} == {"7a000000-x"}
    assert "could be 5e551017-one, 5e551017-two" in house.refused("hold", "add", "--session", "5e55", "--why", "audit")
    house.retention("set", "rag.keep_session_ids=7a,elsewhere")
    assert house.policy("rag")["keep_session_ids"] == ["7a000000-x", "elsewhere"]
    house.retention("set", "rag.keep_session_ids-=7a")
    assert house.policy("rag")["keep_session_ids"] == ["elsewhere"]
    assert "could be 5e551017-one, 5e551017-two" in house.refused("set", "memory.keep_session_ids+=5e55")
    holds = house.answers("hold", "add", "--session", "elsewhere", "--why", "audit")["holds"]
    assert {hold["target"] for hold in holds} == {"elsewhere"}


def test_who_names_a_session_of_which_nothing_is_here_is_told_so(house: Governed) -> None:
    house.session("7a000000-x")
    note = 'Nothing is here of "8b" yet: check the id, unless its data is still to come.'
    for *words, last in (("hold", "add", "--why", "audit", "--session="), ("set", "rag.keep_session_ids+=")):
        assert note not in unwrapped(house.retention(*words, last + "7a"))
        assert note in unwrapped(house.retention(*words, last + "8b"))
    assert note not in unwrapped(house.retention("set", "rag.keep_session_ids-=8b"))


def test_the_user_is_the_author_of_a_hold_unless_somebody_is_named(aged: Governed) -> None:
    old = id_of(aged, "make check")
    done = aged.asked("hold", "add", old, "--why", "audit", "--json", LOGNAME="bob")
    assert json.loads(done.stdout)["holds"][0]["who"] == "bob"


# --- requests of agents ------------------------------------------------------------------------------------------------------------------


def key(house: Governed) -> str:
    return repository.of(str(house.project)).key


def asks(house: Governed, domain: str = "memory", **config: object) -> str:
    """What an agent in the project asks for; the id of the request."""
    with Controller({**house.env, "POPKIT_CLOCK": str(house.now)}, TOOL, key(house), lambda: house.now) as agent:
        return str(agent.configure(domain, config)["request"])


def test_show_begins_with_what_an_agent_asks_for(house: Governed) -> None:
    id = asks(house, older_than_days=7, auto_gc=True)
    house.now += 3_600
    shown = house.retention("show")
    sentences = [
        f"An agent in {key(house)} asked for this memory policy",
        "It would keep less, so it waits for your approval, and would apply to that project only:",
        "memory.older_than_days = 7 (now 30) memory.auto_gc = true (now false)",
        f"To decide: popkit retention admin accept {id} popkit retention admin decline {id}",
    ]
    assert all(each in unwrapped(shown) for each in sentences), shown
    assert shown.index("An agent") < shown.index("Policies")
    assert [each["request"] for each in house.answers("show")["requests"]] == [id]
    assert house.answers("show", "--domain", "rag")["requests"] == []


def test_an_accepted_policy_is_shown_with_how_to_end_it(house: Governed) -> None:
    id = asks(house, older_than_days=7)
    shown = unwrapped(house.retention("admin", "accept", id))
    assert f"Accepted {id}. This now applies to {key(house)} only, as revision 1: memory.older_than_days = 7 (was 30)" in shown
    assert shown.endswith(f"To let your own policy apply there again: popkit retention admin unset {key(house)}")
    shown = unwrapped(house.retention("show"))
    assert f"memory of {key(house)}, by a policy of its own: older_than_days 7" in shown
    assert "what past sessions have taught, except for the projects below" in shown
    assert "An agent" not in shown
    assert f"Revision 1: memory of {key(house)}, just now, by you" in unwrapped(house.retention("admin", "history"))
    assert f"Not in {key(house)}: popkit retention show says what applies there." in unwrapped(house.retention("set", "memory.limit=9"))
    logged = unwrapped(house.retention("admin", "log"))
    assert f"an agent: requested {id} of memory of {key(house)}: older_than_days = 7" in logged
    assert f"you: configured memory of {key(house)}, revision 1" in logged
    assert "no memory policy of its own any more" in unwrapped(house.retention("admin", "unset", key(house)))
    assert house.answers("show")["own"] == []


def test_a_declined_proposal_no_longer_waits(house: Governed) -> None:
    id = asks(house, older_than_days=7)
    assert house.retention("admin", "decline", id) == f"Declined {id}. Nothing else changed.\n"
    assert f"declined {id} of memory of {key(house)}: older_than_days = 7" in unwrapped(house.retention("admin", "log"))
    assert f"no request '{id}' waits for your approval" in house.refused("admin", "accept", id)
    assert "has no memory policy of its own" in house.refused("admin", "unset", key(house))


def test_every_word_goes_by_the_projects_own_policy(house: Governed) -> None:
    id = house.add("Run make check before you commit.")
    house.retention("admin", "accept", asks(house, older_than_days=7))
    house.now += 10 * DAY_S
    assert f"memory of {key(house)}: 1 memory" in unwrapped(house.retention("apply"))
    assert "older than 7 days" in unwrapped(house.retention("explain", id))
    assert f"memory of {key(house)}: what past sessions have taught To mark 1 memory" in unwrapped(house.retention("gc", "--dry-run"))
    house.retention("gc", "--yes")
    assert house.answers("show")["domains"][0]["marked"] == 1
