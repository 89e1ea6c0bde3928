"""What MEMORY.md lists is checked in the checkout when it is told: what is gone, renamed or changed since it was learnt."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from popkit_retention.core.io import repository
from popkit_retention.core.state import memory_checks, memory_json
from popkit_retention.core.state.memory_records import CHANGED, COMMAND, ERROR, GONE, NAME, NOTE, PATH, RENAMED, SAME, Entry, Fact, Verdict
from popkit_retention.core.state.memory_text import render

CART = b"def countTheCoins():\n    return sum(purse)\n" * 9


class Checkout:
    """A real repository with one commit of a few files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q")
        (root / "src").mkdir()
        for name in ("src/cart.py", "src/other.py"):
            (root / name).write_bytes(CART if "cart" in name else b"x = 1\n")
        (root / "package.json").write_text('{"scripts": {"test": "x"}}')
        self.commit()
        self.first = repository.head(str(root))

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", "-C", str(self.root), *identity, *words], capture_output=True, text=True, check=True).stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def fact(self, file: str, holds: str = "") -> Fact:
        return Fact(file, holds, self.first, repository.blob_of(CART if "cart" in file else b"x = 1\n"))

    def state(self, fact: Fact) -> Verdict:
        return memory_checks.check(str(self.root), [fact])[fact]


@pytest.fixture
def shop(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "shop")


def test_the_commit_of_a_checkout_is_read_without_git(shop: Checkout):
    assert shop.first == shop.git("rev-parse", "HEAD")
    shop.git("pack-refs", "--all")
    assert repository.head(str(shop.root)) == shop.first
    shop.git("checkout", "-q", "--detach")
    assert repository.head(str(shop.root)) == shop.first
    shop.git("worktree", "add", "-q", str(shop.root.parent / "tree"))
    assert repository.head(str(shop.root.parent / "tree")) == shop.first
    assert repository.head(str(shop.root / "src")) == ""


def test_a_file_is_the_same_changed_renamed_or_gone(shop: Checkout):
    fact = shop.fact("src/cart.py")
    assert shop.state(fact) == (SAME, "src/cart.py")
    (shop.root / "src/cart.py").write_bytes(CART + b"\n")
    assert shop.state(fact) == (CHANGED, "src/cart.py")
    shop.git("mv", "src/cart.py", "src/basket.py")
    assert shop.state(fact) == (RENAMED, "src/basket.py")
    shop.commit()
    assert shop.state(fact) == (RENAMED, "src/basket.py")
    (shop.root / "src/basket.py").unlink()
    assert shop.state(fact) == (GONE, "src/cart.py")


def test_a_name_is_gone_once_its_file_does_not_hold_it(shop: Checkout):
    fact = shop.fact("src/cart.py", "countTheCoins")
    (shop.root / "src/cart.py").write_bytes(CART + b"\n")
    assert shop.state(fact).state == CHANGED
    (shop.root / "src/cart.py").write_bytes(b"pass\n")
    assert shop.state(fact).state == GONE


def test_a_script_is_gone_once_package_json_does_not_hold_it(shop: Checkout):
    assert shop.state(Fact("package.json", '"test"')).state == SAME
    assert shop.state(Fact("package.json", '"lint"')).state == GONE
    assert shop.state(Fact("src")).state == SAME
    assert shop.state(Fact("lib")).state == GONE


def test_what_cannot_be_read_in_time_counts_as_unchanged(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for name, size in (("large", 1 << 20), ("larger", (1 << 20) + 1)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    facts = [Fact(name, "what it does not hold") for name in ("large", "larger", "pipe")] + [Fact("large", "", "", "other")]
    assert [verdict.state for verdict in memory_checks.check(str(tmp_path), facts).values()] == [GONE, SAME, SAME, CHANGED]


def test_without_a_checkout_nothing_is_known(tmp_path: Path):
    assert memory_checks.check(str(tmp_path / "gone"), [Fact("a.py")]) == {}


def test_git_is_asked_about_the_two_commits_at_which_most_was_learnt(shop: Checkout):
    facts = []
    for number in (3, 2, 1):
        for each in range(number):
            file = shop.root / f"{number}{each}.py"
            file.write_bytes(CART + b"# %d %d\n" % (number, each))
            facts.append(file.name)
        shop.commit()
        facts = [name if isinstance(name, Fact) else Fact(name, "", repository.head(str(shop.root)), "x") for name in facts]
    for fact in facts:
        shop.git("mv", fact.file, f"moved-{fact.file}")
    verdicts = memory_checks.check(str(shop.root), reversed(facts))
    assert {fact.file: verdict.state for fact, verdict in verdicts.items() if verdict.state != RENAMED} == {"10.py": GONE}


@pytest.mark.parametrize("commit", ["--output=owned", "0" * 40, "", "HEAD"])
def test_a_commit_that_is_none_leads_nowhere(shop: Checkout, commit):
    assert shop.state(Fact("src/gone.py", "", commit, "x")).state == GONE
    assert not (shop.root / "owned").exists()


def test_entries_follow_what_became_of_their_files(shop: Checkout):
    entries = [
        Entry(PATH, "cart.py", "src", [shop.fact("src/cart.py")]), Entry(PATH, "other.py", "src", [shop.fact("src/other.py")]),
        Entry(NAME, "countTheCoins", "src/cart.py", [shop.fact("src/cart.py", "countTheCoins")]),
        Entry(COMMAND, "python src/cart.py", "run", [shop.fact("src/cart.py")]),
        Entry(ERROR, "pytest: no coins → edit src/cart.py", "", [shop.fact("src/cart.py")]), Entry(NOTE, "Always count twice."),
    ]  # fmt: skip
    shop.git("mv", "src/cart.py", "src/basket.py")
    (shop.root / "src/other.py").unlink()
    kept = memory_checks.current(str(shop.root), entries)
    assert [(entry.kind, entry.home, entry.text) for entry in kept] == [
        (PATH, "src", "basket.py"), (NAME, "src/basket.py", "countTheCoins"), (ERROR, "", "pytest: no coins → edit src/basket.py"),
        (NOTE, "", "Always count twice."),
    ]  # fmt: skip


# --- files that are as they were when MEMORY.md was written --------------------------------------------------------------------------


LATER_NS = time.time_ns() + 3_600 * 10**9


def listed(shop: Checkout) -> list[Entry]:
    """A file that is the same, one that has changed, a name in the first, one that was renamed, and a note."""
    changed = Entry(PATH, "package.json", "", [Fact("package.json", "", shop.first, "0" * 40)])
    changed.changed = True
    return [
        Entry(PATH, "cart.py", "src", [shop.fact("src/cart.py")]), changed,
        Entry(NAME, "countTheCoins", "src/cart.py", [shop.fact("src/cart.py", "countTheCoins")]),
        Entry(PATH, "till.py", "src", [shop.fact("src/other.py")]), Entry(NOTE, "Always count twice."),
    ]  # fmt: skip


def facts_of(entries: list[Entry]) -> list[tuple]:
    return [(entry.kind, entry.path, entry.changed) for entry in entries]


def test_a_file_has_a_stamp_while_what_is_listed_of_it_holds(shop: Checkout):
    shop.git("mv", "src/other.py", "src/till.py")
    entries = listed(shop)
    assert set(memory_checks.stamps_of(str(shop.root), entries, LATER_NS)) == {"src/cart.py", "package.json"}
    entries[1].changed = False
    assert set(memory_checks.stamps_of(str(shop.root), entries, LATER_NS)) == {"src/cart.py"}
    (shop.root / "src/cart.py").write_bytes(b"pass\n")
    assert memory_checks.stamps_of(str(shop.root), entries, LATER_NS) == {}
    assert memory_checks.stamps_of(str(shop.root / "gone"), entries, LATER_NS) == {}


def test_a_file_that_has_just_been_written_has_none(shop: Checkout):
    stat = (shop.root / "src/cart.py").stat()
    settled_ns = max(stat.st_mtime_ns, stat.st_ctime_ns) + 2 * 10**9
    for now_ns, files in ((settled_ns, set()), (settled_ns + 1, {"src/cart.py"})):
        assert set(memory_checks.stamps_of(str(shop.root), listed(shop)[:1], now_ns)) == files


def test_a_file_with_its_stamp_is_not_read(shop: Checkout):
    (entry,) = entries = listed(shop)[:1]
    stamps = memory_checks.stamps_of(str(shop.root), entries, LATER_NS)
    entry.facts = [Fact("src/cart.py", "what it does not hold")]
    assert memory_checks.current(str(shop.root), entries, stamps) == entries
    assert memory_checks.current(str(shop.root), entries) == []


def test_a_change_is_seen_even_if_it_keeps_the_size_and_the_time_of_the_file(shop: Checkout):
    cart, entries = shop.root / "src/cart.py", listed(shop)[:1]
    stamps = memory_checks.stamps_of(str(shop.root), entries, LATER_NS)
    was = cart.stat()
    cart.write_bytes(CART.replace(b"purse", b"pouch"))
    os.utime(cart, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (cart.stat().st_size, cart.stat().st_mtime_ns) == (was.st_size, was.st_mtime_ns)
    assert [entry.changed for entry in memory_checks.current(str(shop.root), entries, stamps)] == [True]


@pytest.mark.parametrize(
    "stamps", [None, [], {"src/cart.py": None}, {"src/cart.py": 5, "package.json": [1, 2]}, {"src/cart.py": [0, 0, 0]}]
)
def test_stamps_that_are_none_change_nothing(shop: Checkout, stamps):
    shop.git("mv", "src/other.py", "src/till.py")
    assert facts_of(memory_checks.current(str(shop.root), listed(shop), stamps)) == facts_of(
        memory_checks.current(str(shop.root), listed(shop))
    )


def test_whatever_became_of_the_files_entries_with_stamps_are_those_without(shop: Checkout):
    shop.git("mv", "src/other.py", "src/till.py")
    stamps = memory_checks.stamps_of(str(shop.root), listed(shop), LATER_NS)
    for change in (None, "rewrite", "remove"):
        if change == "rewrite":
            (shop.root / "src/cart.py").write_bytes(CART + b"\n")
        elif change == "remove":
            (shop.root / "src/cart.py").unlink()
        with_stamps, without = (memory_checks.current(str(shop.root), listed(shop), each) for each in (stamps, None))
        assert facts_of(with_stamps) == facts_of(without), change


def test_entries_are_read_back_as_they_were_written(shop: Checkout):
    entries = [Entry(PATH, "cart.py", "src", [shop.fact("src/cart.py")]), Entry(NOTE, "Always.")]
    entries[0].changed = True
    again = memory_json.from_json(memory_json.to_json(entries))
    assert render(again) == render(entries)
    assert again[0].facts == entries[0].facts


@pytest.mark.parametrize(
    "value", [None, {}, [1], [["path", "a", "", False]], [["lore", "a", "", False, []]], [["path", "a", "", 0, [[1]]]]]
)
def test_what_no_entries_are_is_refused(value):
    with pytest.raises(ValueError, match="not as it was written"):
        memory_json.from_json(value)


@pytest.mark.bench
def test_500_items_are_checked_in_50_milliseconds(shop: Checkout):
    """Of which 100 have changed, 20 were renamed and 20 are gone, since two commits."""
    data = CART * 20  # 8 kB each
    for number in range(500):
        (shop.root / f"src/file_{number}.py").write_bytes(data + b"# %d" % number)
    shop.commit()
    commit = repository.head(str(shop.root))
    facts = [Fact(f"src/file_{n}.py", "", commit if n % 2 else shop.first, repository.blob_of(data + b"# %d" % n)) for n in range(500)]
    for number in range(100):
        (shop.root / f"src/file_{number}.py").write_bytes(data + b"# changed")
    for number in range(101, 140, 2):
        shop.git("mv", f"src/file_{number}.py", f"src/renamed_{number}.py")
        (shop.root / f"src/file_{number + 1}.py").unlink()
    times = []
    for _ in range(7):
        began = time.perf_counter()
        found = memory_checks.check(str(shop.root), facts)
        times.append(time.perf_counter() - began)
    states = [verdict.state for verdict in found.values()]
    assert [states.count(state) for state in (SAME, CHANGED, RENAMED, GONE)] == [360, 100, 20, 20]
    assert sorted(times)[3] < 0.05
