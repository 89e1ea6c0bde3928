"""What a command line does, how long its output lives, and what it shows."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy import parts
from popkit_retention.core.policy.commandline import bash, programs, wrappers
from popkit_retention.core.policy.coverage import covers
from popkit_retention.core.policy.parts import ALWAYS, ON_SUCCESS, UNSURE
from popkit_retention.core.policy.ruleset import Ruleset
from tests.examples import examples
from tests.work import steps

RULES = Ruleset.from_config({}, TOOLS)


def shown(line, cwd="/w"):
    return [action.part for action in bash.actions(line, cwd)]


SAME_SEARCH = [
    ["rg login src", "rg --color=never 'login' ./src", "ag login src", "rg -e login /w/src", "git grep login src"],
    ["grep -rn login src", "grep -nrE login src", "grep -rn login ./src 2>/dev/null | sort", "grep -rnH login src || true"],
    ["rg -i login", "rg --ignore-case login /w"],
    ["grep -r 'a\\|b' src", "grep -E 'a|b' -r src", "grep -r -e a -e b src"],
    ["rg login -g '*.ts' src", "rg --glob='*.ts' login src"],
    ["rg -t py login", "rg --type py login", "rg --type=py login /w"],
    ["rg -m 3 login", "rg --max-count 3 login", "rg -m3 login ."],
    ["find src -name '*.ts'", "find src -name '*.ts' | sort", "find src -name '*.ts' -print"],
    ["ls", "ls .", "ls -1h /w", "ls -tr"],
    ["ls -la", "ls -l -a", "ls -lah /w", "ls --all -l"],
]  # fmt: skip


@pytest.mark.parametrize("lines", SAME_SEARCH, ids=lambda lines: lines[0])
def test_one_search_has_one_part(lines):
    assert {line: shown(lines[0]) for line in lines} == {line: shown(line) for line in lines}


@pytest.mark.parametrize(
    ("word", "program"),
    [
        ("python3.11", "python"),
        ("/usr/bin/python3", "python"),
        ("pypy3", "python"),
        ("/opt/pypy/bin/pypy3.10", "python"),
        ("python3-config", "python3-config"),
        ("pythonic2", "pythonic"),
        (".venv/bin/pytest", "pytest"),
        ("eslint@8", "eslint"),
        ("@acme/tool@2", "@acme/tool"),
    ],
)
def test_a_program_goes_by_its_name_without_folder_and_version(word, program):
    assert wrappers.program_of(word) == program


def test_the_tools_of_the_host_search_for_the_same():
    """Grep and Glob have the parts of `rg` and `find`."""
    assert shown("rg login src") == [parts.content_search("login", ["/w/src", "l=ignored"])]
    assert shown("rg -i login") == [parts.content_search("login", ["/w", "l=ignored"], insensitive=True)]
    assert shown("rg -g '*.ts' login") == [parts.content_search("login", ["/w", "l=ignored", "l=in *.ts"])]
    assert shown("find src -name '*.ts'") == [parts.file_search("src/**/*.ts", ["/w"])]


@pytest.mark.parametrize(
    ("new", "old", "covered"),
    [
        ("rg login", "rg login src", True),
        ("rg login src", "rg login", False),
        ("rg login src tests", "rg login src", True),
        ("rg login src", "rg login src tests", False),
        ("rg login -g '*.ts'", "rg login", False),
        ('rg "log in"', "rg 'log in'", True),
        ("rg login src", "cd src && rg login", True),
        ("tree src", "tree src", True),
        ("rg -w login", "rg login", False),
        ("rg -i login", "rg login", False),
        ("rg login | grep -v test", "rg login", False),
        ("rg login | head", "rg login | head -50", False),
        ("rg login | head -50", "rg login | head", True),
        ("grep -rn login .", "rg -n login src", True),
        ("rg -n login src", "grep -rn login src", False),
        ("rg login", "rg -n login", False),
        ("grep -rn -A9 login .", "grep -rn -A3 login .", True),
        ("grep -rn -A3 login .", "grep -rn -A9 login .", False),
        ("grep -rn -C3 login .", "grep -rn -B3 login .", True),
        ("grep -rl login .", "grep -rn login .", False),
        ("grep -rn login .", "grep -rl login .", True),
        ("grep -rc login .", "grep -rl login .", False),
        ("grep -rn -m1 login .", "grep -rn login .", False),
        ("rg -m 5 login", "rg -m 3 login", True),
        ("rg --max-count=3 login", "rg -m 5 login", False),
        ("rg --max-depth 3 login", "rg --max-depth 2 login", True),
        ("rg --max-depth 3 login", "rg -m 3 login", False),
        ("rg login", "rg -t py login", True),
        ("rg -t py login", "rg -t js login", False),
        ("grep -rn login . --exclude-dir=lib", "grep -rn login .", False),
        ("grep -rn login .", "grep -rn --include=*.py login .", True),
        ("grep -rn --include=*.py login .", "grep -rn --include=*.py --include=*.js login .", False),
        ("grep -rn --odd login .", "grep -rn login .", False),
        ("ls", "ls -la", False),
        ("ls -la", "ls", True),
        ("ls -R", "ls src", True),
        ("ls --odd", "ls", False),
        ("tree -L 3", "tree -L 2", True),
        ("tree -L 2", "tree", False),
        ("find . -name '*.ts' -not -path './lib/*'", "find . -name '*.ts'", False),
        ("find . -name '*.ts'", "find . -type f -name '*.ts'", True),
        ("fd -H -I -e ts", "fd -e ts", True),
        ("git diff", "git diff --name-only src/", True),
        ("git diff", "git diff src/a.py", True),
        # A word may be a branch.
        ("git diff", "git diff feature/login", False),
        ("git diff", "git diff dev", False),
        ("git diff --stat", "git diff v1.2.0 --stat", False),
        ("git diff dev", "git diff dev", True),
        # Of another repository, in another environment.
        ("git log", "git --git-dir=/r/.git log", False),
        ("git log", "git --git-dir /r/.git log", False),
        ("git -C /r log", "git --git-dir=/r/.git log", True),
        ("git show main:a.py", "GIT_DIR=/r git show main:a.py", False),
        ("git log", "env GIT_DIR=/r git log", False),
        ("terraform plan", "env AWS_PROFILE=a terraform plan", False),
        ("rtk git status", "git status", False),
        # Another output, neither less nor more.
        ("gh run view 7", "gh run view 7 --log-failed", False),
        ("gh run view 7 --log", "gh run view 7", False),
        ("gh run view 7 -v", "gh run view 7", True),
        ("gh issue view 5 --comments", "gh issue view 5", False),
        ("gh pr view 5", "gh pr view 5 -c", False),
        ("pip list", "pip list --outdated", False),
        ("terraform plan", "terraform plan -refresh-only", False),
        ("docker ps", "docker ps -n 5", False),
        # Without a number some show all, and some only so many.
        ("docker logs a", "docker logs --tail 50 a", True),
        ("gh run list", "gh run list -L 50", False),
        ("gh run list", "gh run list -L 20", True),
        ("gh run list --limit 50", "gh run list", True),
        ("systemctl status nginx", "systemctl status -n 200 nginx", False),
        ("npm ls", "npm ls --depth=5", False),
        ("npm ls", "npm ls --depth=0", True),
        ("git log --oneline --graph --all -20", "git log --oneline -5", False),
        ("git log --max-count=9", "git log -n 5", True),
        # What else is made of a file is none of its lines.
        ("cat q.json", "cat q.json | curl -d @- http://x", False),
        ("cat q.sql", "cat q.sql | psql db", False),
        ("cat q.json", "cat q.json | jq .a | head", True),
        ("cat a.py", "cat a.py | python3", False),
        ("git show main:a.py", "git show main:a.py | python3", False),
        # Numbers of lines run on from file to file.
        ("sed -n 1,5p a.py b.py", "sed -n 1,5p b.py", False),
        ("sed -ns 1,5p a.py b.py", "sed -n 1,5p b.py", True),
        ("awk 'NR<=5' a.py b.py", "sed -n 1,5p b.py", False),
        ("head -5 a.py b.py", "sed -n 1,5p b.py", True),
        ("cat a.py", "uv run --directory b cat a.py", False),
        ("docker run -v b:/x alpine cat /x/f", "docker run -v a:/x alpine cat /x/f", False),
        ("git diff src", "git diff", False),
        ("git log -9", "git log -5 --oneline", True),
        ("git log --oneline -5", "git log -5", False),
        ("docker ps -a", "docker ps", True),
        ("kubectl get pods -n a", "kubectl get pods", False),
        ("git diff | head -9", "git diff", False),
        ("git diff main..HEAD -- a.py", "git diff main..HEAD -- b.py", False),
        ("git diff 1a2b3c4..5d6e7f8 -- a.py", "git diff 1a2b3c4..5d6e7f8 -- b.py", False),
        ("git diff main -- a.py b.py", "git diff main -- b.py", True),
        ("rg login", "rg logout", False),
        ("rg login", "rg login | wc -l", False),
        ("rg login src", "rg login srclib", False),
        ("cat login", "rg login", False),
        ("ls", "ls src", False),
        ("ls -R", "ls -R src", True),
        ("find . -maxdepth 1 -name '*.ts'", "find src -maxdepth 1 -name '*.ts'", False),
        ("find . -name '*.ts'", "find src -name '*.ts'", True),
        ("find . -name '*.ts' | xargs grep x", "grep -r x src", False),
        ('rg "$X"', 'rg "$X"', False),
        ("cat a.py", "sed -n 5,9p a.py", True),
        ("sed -n 5,9p a.py", "cat a.py", False),
        ("cat $F", "cat $F", False),
        ("cd $D && cat a.py", "cd $D && cat a.py", False),
        ("git status", "git status", True),
        ("git status", "git -C /r status", False),
        ("python3 - <<E\na\nE", "python3 - <<E\nb\nE", False),
        ("git log | head -5", "git log", False),
        ("git log", "git log | head -5", True),
        ("curl $URL", "curl $URL", False),
        ("sed -n '5,$p' a.py", "tail -n +9 a.py", True),
        ("git show main:a.py", "git show main:a.py | head -50", True),
        ("git show main:a.py | head -50", "git show main:a.py", False),
        ("git show main:a.py", "git cat-file -p main:a.py", True),
        ("git show main:a.py", "git show dev:a.py", False),
        ("git show main:a.py", "git show --format=%h:%s main:a.py", False),
        ("npm test && cd a; cd /b; cat c.py", "cat /b/c.py", True),
        ("git ls-files | xargs -I{} rg foo {}", "find a | xargs -I{} rg foo {}", False),
        ("git show main:a.py", "cat a.py", False),
        ("cat a.py", "git show main:a.py", False),
        ("git show main:a.py", "cd /r && git show main:a.py", False),
        ("git show $REF:a.py", "git show $REF:a.py", False),
        ("for f in a.py b.py; do cat $f; done", "cat b.py", True),
    ],
)
def test_a_command_covers_what_it_shows_again(new, old, covered):
    assert covered is covers(shown(new)[-1], shown(old)[-1])


@pytest.mark.parametrize(
    ("new", "old", "covered"),
    [
        ("(npm test) 2>&1 | tail -3", "npm test", False),
        ("npm test", "(npm test) 2>&1 | tail -3", True),
        ("(npm test; npm run lint) | tail -30", "(npm test; npm run lint) | tail -3", True),
        ("{ npm test; } | grep -c error", "npm test", False),
        ("(npm test) 2>/dev/null", "npm test", False),
        ("(npm test) 2>&1", "npm test", True),
        ("npm test || true", "npm test", False),
        ("npm test || echo failed", "npm test", True),
        ("(cat a) | head -3", "cat a", False),
        ("cat a", "(cat a) | head -3", True),
        ("kubectl -n a get pods -o wide", "kubectl get pods -n a", True),
        ("kubectl -n b get pods", "kubectl get pods -n a", False),
        ("docker compose -f a.yml ps -a", "docker compose -f a.yml ps", True),
        ("docker compose -f b.yml ps", "docker compose ps", False),
        ("terraform -chdir=a plan", "terraform -chdir=a plan -no-color", True),
        ("terraform plan -lock-timeout=30s", "terraform plan", True),
    ],
)
def test_what_stands_around_a_command_counts(new, old, covered):
    assert covered is covers(shown(new)[0], shown(old)[0])


@pytest.mark.parametrize(
    ("line", "ran"),
    [
        ("npm test", ALWAYS),
        ("npm run lint && npm test", ON_SUCCESS),
        ("(npm run lint && npm test) 2>&1", ON_SUCCESS),
        ("npm run lint && npm test && echo done", ON_SUCCESS),
        ("npm run lint && npm test || exit 1", ON_SUCCESS),
        ("bash -c 'npm run lint && npm test'", ON_SUCCESS),
        ("npm run lint | tail -3 && npm test", ALWAYS),
        ("cd web && npm test || true", ALWAYS),
        ("(npm run lint; npm test) | tail -3", ALWAYS),
        ("npm run lint && (cd web && npm test) | tail -3", ON_SUCCESS),
        ("rm -f a && mkdir -p b && sleep 1 && npm test", ALWAYS),
        ("A=1 && npm test", ALWAYS),
        ("cp a b && npm test", ON_SUCCESS),
        ("A=$(node a.js) && npm test", ON_SUCCESS),
        ("git log | grep -q fix && npm test", ON_SUCCESS),
        ("set -o pipefail; npm run lint | tail -3 && npm test", ON_SUCCESS),
        ("set -euo pipefail; npm run lint | tail -3; npm test", ON_SUCCESS),
        ("set -e; npm run lint; npm test", ON_SUCCESS),
        ("set -xe; npm run lint; npm test", ON_SUCCESS),
        ("set -o errexit; npm run lint; npm test", ON_SUCCESS),
        ("set -x; npm run lint; npm test", ALWAYS),
        ("set +e; npm run lint; npm test", ALWAYS),
        ("set -- one two; npm run lint; npm test", ALWAYS),
        ("(set -x; exec 3>&1; npm test)", ALWAYS),
        ("exec node serve.js; npm test", UNSURE),
        ("npm run lint && npm test || true", UNSURE),
        ("npm run lint && npm test && echo fine || echo failed", UNSURE),
        ("(npm run lint && npm test) || echo failed", UNSURE),
        ("npm run lint && { npm run build; npm test; }", ON_SUCCESS),
        ("npm run lint && { npm run build; (a; npm test); }", ON_SUCCESS),
        ("npm run lint && if a; then b; fi && npm test", ON_SUCCESS),
        ("npm run lint && { a; npm test; } || true", UNSURE),
        ("npm run lint && { a; npm test; } | tail -3", UNSURE),
        ("npm run lint && { npm test; a; }", UNSURE),
        ("cd web && { npm run lint; npm test; } 2>&1 | tail -3", ALWAYS),
        ("npm run lint && { a; b; }; npm test", ALWAYS),
        ("npm run lint && { a; exit 1; }; npm test", ON_SUCCESS),
        ("npm run lint || { a; npm test; }", UNSURE),
        ("cd web && for x in a b; do echo $x; b | tail -3; done; npm test", ALWAYS),
        ("cd web && for x in a test; do echo $x; npm run npm:$x; done", ALWAYS),
        ("npm run lint && npm test; echo done", UNSURE),
        ("(npm run lint && npm test) | tail -30", UNSURE),
        ("(npm run lint && npm test) 2>&1 | tail -30", UNSURE),
        ("bash -c 'npm run lint && npm test' | tail -30", UNSURE),
        ("bash -c 'npm run lint && npm test'; echo done", UNSURE),
        ("bash -c 'npm run lint && npm test' || true", UNSURE),
        ("(npm test) > log", UNSURE),
        ("{ npm run lint; npm test; } > log 2>&1", UNSURE),
        ("{ npm run lint && npm test; } 2>&1", ON_SUCCESS),
        ("bash -c 'false' && npm test", ON_SUCCESS),
        ("eval false && npm test", ON_SUCCESS),
        ("wait && npm test", ON_SUCCESS),
    ],
)
def test_a_run_whose_turn_may_not_have_come_is_not_sure(line, ran):
    assert next(action.ran for action in bash.actions(line, "/w") if "npm:test" in action.part[0]) == ran


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("cd src && cat a", "/w/src/a"),
        ("cd src; cd lib; cat a", "/w/src/lib/a"),
        ("cd /x && cat a", "/x/a"),
        ("cd .. && cat a", "/a"),
        ("cd && cat a", "~/a"),
        ("cd ~/x && cat a", "~/x/a"),
        ("cd $X && cat a", "?/a"),
        ("cd - && cat a", "?/a"),
        ("cd $X && cd sub && cat a", "?/a"),
        ("cd $X && cat /b/a", "/b/a"),
        ("(cd src && ls) && cat a", "/w/a"),
        ("(cd src && cat a)", "/w/src/a"),
        ("(cd src); (cd lib; cat a)", "/w/lib/a"),
        ("pushd src && popd && cat a", "/w/a"),
        ("bash -c 'cd src' && cat a", "/w/a"),
        ("eval 'cd src' && cat a", "/w/src/a"),
        ("cd src; cat b; cat a", "/w/src/a"),
        ("cd src || exit 1; cat a", "/w/src/a"),
        ("mkdir -p src && cd src; cat a", "/w/src/a"),
        ("[ -d src ] && cd src && cat a", "/w/src/a"),
        ("[ -d src ] && cd src; cat a", "?/a"),
        ("[ -d src ] && cd src || true; cat a", "?/a"),
        ("eval '[ -d src ] && cd src'; cat a", "?/a"),
        ("(test -d src && cd src; ls); cat a", "/w/a"),
        ("cd lib || cd src; cat a", "?/a"),
        ("if [ -d src ]; then cd src; cat a; fi", "?/a"),
        ("if [ -d src ]; then cd src; fi; cat a", "?/a"),
        ("while false; do cd src; done && cat a", "?/a"),
        ("case x in x) cd src;; esac; cat a", "?/a"),
        ("f() { cd src; }; cat a", "/w/a"),
        ("{ cd src; cat a; }", "/w/src/a"),
        ("{ cd src; ls; }; cat a", "/w/src/a"),
        ("{ cd src; ls; } | tail; cat a", "/w/a"),
        ("{ cd src; ls; } 2>&1 | tail; cat a", "/w/a"),
        ("{ cd src; cat a; } | tail", "/w/src/a"),
        ("[ -d src ] && cd src && (ls; cat a)", "/w/src/a"),
        ("{ { cd src; ls; } | head; cat a; } | tail", "/w/a"),
        ("{ cd src; (cat a); } | tail", "/w/src/a"),
        ("for d in src lib; do cd $d; ls; cd ..; done | tail; cat a", "/w/a"),
        ("ls | while read x; do cd src; done; cat a", "/w/a"),
        ("ls | (cd src; ls); cat a", "/w/a"),
        ("command cd src; cat a", "/w/src/a"),
        ("env A=1 cd src; cat a", "/w/a"),
        ("docker exec web cd /app; cat a", "/w/a"),
        ("env -C src cat a", "/w/src/a"),
        ("env -C src cat < a", "/w/a"),
    ],
)
def test_cd_moves_the_rest_of_the_line(line, path):
    assert shown(line)[-1][0] == "read:" + path


TELLING = [
    "npm test", "cd web; npm test", "npm run lint && npm test", "npm test || exit 1", "npm test 2>/dev/null", "npm test > log",
    "(npm test)", "{ npm test; } 2>&1", "bash -c 'npm test'", "set -o pipefail; npm test | tail", "set -e; npm test; npm run build",
    "yes | npm test", "echo fine; npm test",
]  # fmt: skip
NOT_TELLING = [
    "npm test | tail", "npm test || true", "npm test || npm run build", "npm test; echo done", "npm test\nls",
    "npm test &", "npm test & wait", "(npm test) | tail", "{ npm test; } 2>&1 | tail", "bash -c 'npm test; ls'",
    "bash -c 'npm test' | tail", "if npm test; then ls; fi", "if ls; then npm test; fi", "while npm test; do ls; done",
    "f() { npm test; }", "npm test; exit 0",
]  # fmt: skip


@pytest.mark.parametrize("line", TELLING + NOT_TELLING)
def test_a_line_tells_whether_a_command_succeeded_where_its_own_status_decides(line):
    [action] = [action for action in bash.actions(line, "/w") if action.part[0].startswith("run:npm:test@") or "npm test" in action.part[0]]
    assert action.tells is (line in TELLING)


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("bash <<EOF\npytest\nEOF", True),
        ("bash -s a <<EOF\npytest\nEOF", True),
        ("bash -euo pipefail <<EOF\npytest\nEOF", True),
        ("bash - <<< pytest", True),
        ("bash install.sh <<EOF\npytest\nEOF", False),
        ("bash -n <<EOF\npytest\nEOF", False),
    ],
)
def test_what_a_shell_is_fed_is_its_script_where_none_is_named(line, script):
    assert (shown(line)[0][0] == "run:pytest@/w") is script


@pytest.mark.parametrize("line", ["grep -n foo < a", "rg foo <<< x", "rg foo <<EOF\nx\nEOF"])
def test_what_is_redirected_into_a_search_is_not_the_folder(line):
    assert shown(line)[0][1][0] == "?pipe"


def test_what_a_trap_does_at_the_end_is_part_of_a_line():
    assert [part[0] for part in shown("trap 'cat a' EXIT; cat c")] == ["do:trap cat a EXIT@/w", "read:/w/c"]


def test_windows_folders_have_one_form():
    [read, run] = shown("cat src/a.ts; cd /d/x && npm test", cwd="D:\\proj")
    assert read == ("read:D:/proj/src/a.ts", [1, 0])
    assert run == ("run:npm:test@D:/x", [])


@pytest.mark.parametrize("line", ["thing 2>&1", "thing >/dev/null", "thing 2>/dev/null", "thing &>/dev/null", "thing >/dev/null 2>&1"])
def test_what_is_thrown_away_makes_no_other_command(line):
    assert part_of_line(line) == part_of_line("thing")


@pytest.mark.parametrize("line", ["thing >out.txt", "thing >>out.txt", "thing 2>err.txt", "thing &>out.txt", "thing <in.txt"])
def test_a_file_that_is_read_or_written_makes_another_command(line):
    assert part_of_line(line) != part_of_line("thing")


@pytest.mark.parametrize("option", ["-L", "-H", "-P", "-E", "-L -E"])
def test_what_find_follows_is_none_of_its_starting_points(option):
    assert part_of_line(f"find {option} src -type f") == part_of_line("find src -type f")
    assert part_of_line(f"find {option} src -type f") != part_of_line("find -type f")


@pytest.mark.parametrize(
    "options", ["-c", "-lc", "-o pipefail -c", "+o posix -c", "-O extglob -c", "+O extglob -ec", "--norc -c", "-e -x -c"]
)
def test_a_shell_runs_the_text_behind_its_options(options):
    assert part_of_line(f"bash {options} 'pytest a.py'") == part_of_line("pytest a.py")


@pytest.mark.parametrize("words", ["", "-l", "-o pipefail", "script.sh -c", "--norc"])
def test_a_shell_without_such_a_text_runs_something_else(words):
    [action] = bash.actions(f"bash {words} 'pytest a.py'".strip(), "/w")
    assert action.kind == "other"


def test_a_shell_that_is_given_nothing_runs_nothing():
    [action] = bash.actions("bash -l", "/w")
    assert (action.kind, action.name) == ("other", "bash -l")


def part_of_line(line):
    [action] = bash.actions(line, "/w")
    return action.part


def test_only_a_commit_commits():
    assert [action.commits for action in bash.actions("git add . && git commit -m x; git push", "/w")] == [False, True, False]


def test_names_are_short():
    actions = bash.actions(
        "cat src/a.ts; sed -n 10,20p src/a.ts; rg login src; git commit -m 'long text'; python3 -c '" + "x" * 500 + "'", "/w"
    )
    assert [action.name for action in actions[:4]] == ["cat src/a.ts", "sed src/a.ts:10-20", "rg login", "git commit"]
    assert len(actions[4].name) == 80
    assert len(actions[4].part[0]) < 250


PIECES = st.sampled_from(
    ["'", '"', "\\", "`", "$(", "${", "<<E\n", "\nE\n", "(", ")", "{", "}", "#", "\n", ">", "<", "&", "|", ";", " ", "a", "/", "..", "-",
    "=",
     "cat ", "sed -n ", "1,5p ", "rg ", "-e ", "find . ", "-exec ", "-type ", "cd ", "npm ", "run ", "test ", "pytest ", "-k ", "go ",
     "./... ",
     "git ", "-C ", "commit ", "xargs ", "sudo ", "env ", "timeout ", "docker ", "exec ", "bash -c ", "eval ", "head ", "-n ", "awk ",
     "NR>=1 ",
     "make ", "nx ", "-t ", "cargo ", "uv ", "python ", "-m ", "tee ", "\x00", "\ud800", "٣"]
)  # fmt: skip


@settings(max_examples=examples(100, 400))
@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)), st.sampled_from(["/w", "", "?", "C:\\x", "~"]))
@example("bash -c " * 50, "/w")
@example("cat " + "a " * 1000, "/w")
@example("sed -n '" + "9" * 5000 + "p' a", "/w")
@example("find . -exec", "/w")
@example("docker exec", "/w")
@example("docker exec -w", "/w")
def test_never_raises(line, cwd):
    actions = bash.actions(line, cwd)
    assert actions
    assert bash.longest_lived(actions, RULES)[1] in ("ephemeral", "short", "medium", "session")
    for action in actions:
        key, scope = action.part
        assert isinstance(key, str)
        assert isinstance(scope, list)
        assert isinstance(action.name, str)
        covers(action.part, action.part)


@pytest.mark.parametrize(
    "piece",
    ["cd a;", "(cd a;", "sudo ", "env a=b ", "bash -c ", "eval ", "cat x ", "a|", "pytest a ", "git -C a ", "../", "{ pytest; ",
     "pytest; } >f|a;", "{ pytest; } >f >g|a|", "if a;then b;fi|c;", "f(){ exit;};", "(exit);", "exit 1;a;",
     "(a;b)|c;", "f()(", "a||{ ", "a&&", "a&&b&"],
)  # fmt: skip
def test_hostile_lines_take_steps_in_proportion_to_their_length(piece, count):
    times = count(250, 500)
    short, long = (steps(bash.actions, piece * many, "/w") for many in (times, 8 * times))
    assert long < 12 * short


def test_no_known_program_trips_over_empty_or_odd_words():
    tables = (programs.KINDS, programs.TOOLS, programs.SUBCOMMANDS, programs.PREFIXES, programs.PREFIX_SUBCOMMANDS, programs.ALIASES)
    known = {name for table in tables for row in table.text.split("\n") for name in row.partition(": ")[0].split()}
    known |= {*programs.SHELLS, *programs.SCRIPT_RUNNERS, *programs.INTERPRETERS, *programs.TASKS}
    odd = ("''", *"- -- -c -n = + / ~ $ {}".split(), "-c ''", "run ''", "'' ''", "-- ''", "-n ''", "-exec ''", "test ''", "exec ''")
    for program in sorted(known):
        for words in odd:
            assert bash.actions(f"{program} {words}", "/w")
            assert bash.actions(f"echo x | {program} {words}", "/w")
            assert bash.actions(f"xargs {program} {words}", "/w")


def test_more_places_than_anybody_lists_are_unknown():
    """So that what is searched, read or run there covers nothing."""
    most, more = (" ".join(str(number) for number in range(count)) for count in (64, 65))
    assert len(shown(f"cat {most}")) == 64
    assert shown(f"cat {more}") == [("read:?/many", [0, 0])]
    for program in ("rg x", "find", "ls", "tree", "fd x", "pytest"):
        [(_, scope)] = shown(f"{program} {most}")
        assert len([item for item in scope if item[1:2] != "="]) == 64
        [(key, scope)] = shown(f"{program} {more}")
        assert [item for item in scope if item[1:2] != "="] in (["?many"], ["?many/."])
        assert not covers((key, scope), (key, scope))


def test_the_places_of_a_look_at_a_tree_are_its_folder_where_they_are_many():
    most, more = (" ".join(str(number) for number in range(count)) for count in (64, 65))
    for look in ("git status", "git diff --"):
        assert len(shown(f"{look} {most}")[0][1]) == 2 + 64
        assert shown(f"{look} {more}")[0][1][2:] == ["/w"]


def test_no_folder_has_a_longer_path_than_systems_allow():
    assert shown(f"cd /{'a' * 4095}; cat b") == [(f"read:/{'a' * 4095}/b", [1, 0])]
    assert shown(f"cd /{'a' * 4096}; cat b") == [("read:?/b", [0, 0])]


def test_a_line_in_no_folder_names_what_it_shows_as_it_is_written():
    assert shown("cat a; cd b; cat c", "") == [("read:a", [1, 0]), ("read:b/c", [1, 0])]
