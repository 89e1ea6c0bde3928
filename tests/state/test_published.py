"""What services publish: an alert is shown once, and what is marked is known for as long as it is."""

from __future__ import annotations

from pathlib import Path

from hooks.utils.io.repository import Repository
from hooks.utils.state import memory, published
from hooks.utils.state import marked
from hooks.utils.state import memory_alerts

NOW = 1_800_000_000.0


def test_an_alert_is_shown_once(tmp_path: Path) -> None:
    project = memory.Project(str(tmp_path), Repository("shop-0123456789ab", "/shop", "shop"))
    project.turn_on(NOW)
    assert memory_alerts.unseen_alerts(project) == {}
    memory_alerts.set_alerts(project, {"m1": 5.0, "m2": 6.0})
    assert memory_alerts.unseen_alerts(project) == {"m1": 5.0, "m2": 6.0}
    memory_alerts.note_alerts_seen(project, ["m1"])
    memory_alerts.set_alerts(project, {"m1": 5.0, "m3": 7.0})
    assert memory_alerts.unseen_alerts(project) == {"m3": 7.0}
    memory_alerts.set_alerts(project, {"m3": 7.0})
    memory_alerts.set_alerts(project, {"m1": 9.0})
    assert memory_alerts.unseen_alerts(project) == {"m1": 9.0}


def test_where_nothing_is_marked_nothing_is_written(tmp_path: Path) -> None:
    marked.replace_marked(str(tmp_path), marked.RAG, list)
    assert list(tmp_path.iterdir()) == []
    marked.replace_marked(str(tmp_path), marked.RAG, lambda: marked.marked_rows([("p", "job", "r1", NOW)]))
    marked.replace_marked(str(tmp_path), marked.MEMORY, lambda: marked.marked_rows([("p", "tool", "m1", NOW)]))
    marked.replace_marked(str(tmp_path), marked.RAG, list)
    assert [part for part, _ in marked.marked_of(str(tmp_path), "p")] == [marked.MEMORY]
