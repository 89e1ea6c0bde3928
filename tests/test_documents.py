"""The documents about the code say what it is now."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests import budgets

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
DECISIONS = sorted(path for path in (DOCS / "decisions").rglob("*.md") if path.name != "README.md")
ERRORS_OF_PYTHON = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
WRITTEN = sorted(path for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MADE = re.compile(r"<!-- \w+: made by scripts/docs -->.*?<!-- end -->", re.DOTALL)
VAGUE = re.compile(r"(?:What|Whose|Which|How|When|Where|Each|Every|One)\b")
MOST_WORDS = 19_071


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def words_by_hand(page: bytes) -> int:
    """How many words of a page are not made by `scripts/docs`."""
    text = page.decode()
    return 0 if "\n\nMade by `scripts/docs`" in text[:200] else len(MADE.sub("", text).split())


def test_the_documents_that_are_made_are_what_docstrings_and_tables_say():
    command = [sys.executable, str(ROOT / "scripts" / "docs"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "All are up to date.\n")


def test_every_error_has_a_name_of_its_own_and_says_what_it_means():
    rows = [line.strip("| ").split(" | ") for line in read(DOCS / "design" / "errors.md").splitlines() if line.startswith("| `")]
    assert [name for name, count in Counter(row[0] for row in rows).items() if count > 1] == []
    assert [row for row in rows if len(row) != 4] == []


def test_every_error_is_a_popkit_error():
    """Except private ones, which never leave their module."""
    strange = []
    for path in (path for tree in ("hooks", "power-mode") for path in (ROOT / tree).rglob("*.py")):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.ClassDef) and node.name != "PopkitError" and not node.name.startswith("_"):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                if bases and bases <= ERRORS_OF_PYTHON:
                    strange.append(f"{path}: {node.name}")
    assert strange == []


def test_every_module_says_in_a_sentence_what_it_is():
    assert [line for line in read(DOCS / "design" / "modules.md").splitlines() if line.endswith("|  |")] == []


def test_a_docstring_begins_with_its_noun_or_its_verb():
    """Except that "Whether ..." says what a boolean is."""
    vague = []
    for path in (path for tree in ("hooks", "power-mode") for path in (ROOT / tree).rglob("*.py")):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                vague += [f"{path}: {said}" for said in [ast.get_docstring(node) or ""] if VAGUE.match(said)]
    assert vague == []


def test_the_design_is_read_in_one_sitting():
    assert len(read(DOCS / "design" / "README.md").splitlines()) <= 200


def test_what_a_user_reads_is_read_in_an_afternoon():
    """All but the figures, what is for engineers, and what is made of tables, where a word more is a word of help or of a setting."""
    texts = [path for path in [ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "agents").glob("*.md")] if path.name != "measured.md"]
    sizes = {path.relative_to(ROOT).as_posix(): words_by_hand(path.read_bytes()) for path in texts}
    assert sizes["docs/commands.md"] == 0
    budgets.assert_within(MOST_WORDS, sizes, "what two pages say, and what no reader needs to act", ROOT, words_by_hand)


def test_a_decision_has_a_title_a_date_and_what_would_revoke_it():
    for path in DECISIONS:
        lines = read(path).splitlines()
        assert lines[0].startswith("# "), path
        assert re.fullmatch(r"20\d\d-\d\d-\d\d · " + path.parent.name, lines[2]), path
        assert lines[-1].startswith("**What would revoke it:** "), path


def test_every_decision_is_listed():
    listed = LINK.findall(read(DOCS / "decisions" / "README.md"))
    assert sorted(listed) == [path.relative_to(DOCS / "decisions").as_posix() for path in DECISIONS]


def test_what_a_document_links_to_is_there():
    for path in WRITTEN:
        links = [link for link in LINK.findall(read(path)) if "://" not in link and not link.startswith("mailto:")]
        assert [link for link in links if not (path.parent / link).exists()] == [], path


def test_the_tests_that_a_document_names_are_there():
    tests = {name for test in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"\bdef (test_\w+)\(", read(test))}
    for path in WRITTEN:
        named = re.findall(r"(?<![\w/])(?:[\w/]+\.py::)?(test_\w+)(?![\w.])", read(path))
        assert [name for name in named if name not in tests] == [], path


def test_the_modules_that_a_design_names_are_there_and_hold_what_it_says_of_them():
    code = {path: read(path) for top in ("hooks", "power-mode", "benchmarks", "tests", "scripts") for path in (ROOT / top).rglob("*.py")}
    pairs = [
        (path.name, module, re.findall(r"`(\w+)`", names))
        for path in [*(DOCS / "design").glob("*.md"), *DECISIONS]
        for module, names in re.findall(r"`([\w./]+\.py)`((?:,? (?:and )?`\w+`)*)", read(path))
    ]
    assert len([names for _, _, names in pairs if names]) > 10
    for document, module, names in pairs:
        texts = [text for path, text in code.items() if path.as_posix().endswith("/" + module)]
        assert texts, (document, module)
        assert [name for name in names if not any(re.search(rf"\b{name}\b", text) for text in texts)] == [], (document, module)


def test_the_files_that_contributors_are_sent_to_are_there():
    named = re.findall(r"`([\w/.-]+/[\w/.-]*)`", read(ROOT / "CONTRIBUTING.md"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_lines_that_try_a_change_by_hand_run(tmp_path):
    (lines,) = re.findall(r"^```sh\n(.*?)^```", read(ROOT / "CONTRIBUTING.md"), re.DOTALL | re.MULTILINE)
    lines = re.sub("/tmp/", f"{tmp_path}/", lines).replace(".venv/bin/python", sys.executable)  # noqa: S108  as they have it
    done = subprocess.run(["bash", "-ec", lines], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(said in done.stdout for said in ("read:/shop/a.py", "until the next run"))


def test_a_test_s_name_has_less_than_80_characters():
    """A name says the behaviour; its docstring has room for the law."""
    names = {name for test in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"\bdef (test_\w+)\(", read(test))}
    assert names
    assert [name for name in sorted(names) if len(name) >= 80] == []
