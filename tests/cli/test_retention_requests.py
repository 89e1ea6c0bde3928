"""`popkit retention` and what agents ask for: it shows what waits, takes the yes or the no, and says what holds in which project."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.utils.io import repository
from popkit_retention.governance.controller import Controller
from popkit_retention.governance.domains import TOOL
from tests.cli.governed import Governed
from tests.cli.remembered import DAY_S, fits


@pytest.fixture
def house(tmp_path: Path) -> Governed:
    return Governed(tmp_path)


def key(house: Governed) -> str:
    return repository.of(str(house.project)).key


def asks(house: Governed, domain: str = "memory", **config: object) -> str:
    """What an agent in the project asks for; the id of the request."""
    with Controller({**house.env, "POPKIT_CLOCK": str(house.now)}, TOOL, key(house), lambda: house.now) as agent:
        return str(agent.configure(domain, config)["request"])


def words(shown: str) -> str:
    assert fits(shown), shown
    return " ".join(shown.split())


def test_show_begins_with_what_an_agent_asks_for(house: Governed) -> None:
    id = asks(house, older_than_days=7, auto_gc=True)
    house.now += 3_600
    shown = house.retention("show")
    said = [
        f"An agent in {key(house)} asked for this memory policy",
        "It would keep less, so it waits for your yes, and would hold in that project alone:",
        "memory.older_than_days = 7 (now 30) memory.auto_gc = true (now false)",
        f"To decide: popkit retention accept {id} popkit retention decline {id}",
    ]
    assert all(each in words(shown) for each in said), shown
    assert shown.index("An agent") < shown.index("Policies")
    assert [each["request"] for each in house.told("show")["requests"]] == [id]
    assert house.told("show", "--domain", "rag")["requests"] == []


def test_what_is_accepted_is_told_with_how_to_end_it(house: Governed) -> None:
    id = asks(house, older_than_days=7)
    shown = words(house.retention("accept", id))
    assert f"Accepted {id}. This now holds for {key(house)} alone, as revision 1: memory.older_than_days = 7 (was 30)" in shown
    assert shown.endswith(f"To let your own policy apply there again: popkit retention unset {key(house)}")
    shown = words(house.retention("show"))
    assert f"memory of {key(house)}, by a policy of its own: older_than_days 7" in shown
    assert "what past sessions have taught, but for the projects below" in shown
    assert "An agent" not in shown
    assert f"Revision 1: memory of {key(house)}, just now, by you" in words(house.retention("history"))
    assert f"Not in {key(house)}: popkit retention show says what holds there." in words(house.retention("set", "memory.limit=9"))
    logged = words(house.retention("log"))
    assert f"an agent: asked for {id} of memory of {key(house)}: older_than_days = 7" in logged
    assert f"you: configured memory of {key(house)}, revision 1" in logged
    assert "no memory policy of its own any more" in words(house.retention("unset", key(house)))
    assert house.told("show")["own"] == []


def test_what_is_declined_waits_no_longer(house: Governed) -> None:
    id = asks(house, older_than_days=7)
    assert house.retention("decline", id) == f"Declined {id}. Nothing else changed.\n"
    assert f"declined {id} of memory of {key(house)}: older_than_days = 7" in words(house.retention("log"))
    assert f"no request '{id}' waits for your yes" in house.refused("accept", id)
    assert "has no memory policy of its own" in house.refused("unset", key(house))


def test_every_word_goes_by_the_projects_own_policy(house: Governed) -> None:
    id = house.add("Run make check before you commit.")
    house.retention("accept", asks(house, older_than_days=7))
    house.now += 10 * DAY_S
    assert f"memory of {key(house)}: 1 memory" in words(house.retention("apply"))
    assert "older than 7 days" in words(house.retention("explain", id))
    assert f"memory of {key(house)}: what past sessions have taught To mark 1 memory" in words(house.retention("gc", "--dry-run"))
    house.retention("gc", "--yes")
    assert house.told("show")["domains"][0]["marked"] == 1
