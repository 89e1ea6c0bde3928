"""The same run has the same key and scope, however it is written; it ends the earlier one, and a failing run leaves its verdict."""

import pytest

from popkit_retention.core.hosts.claude_code import TOOLS
from popkit_retention.core.policy.commandline import bash
from popkit_retention.core.policy.coverage import covers
from popkit_retention.core.policy.ruleset import Ruleset
from tests.policy.scenario import Scenario

RULES = Ruleset.from_config({}, TOOLS)


def part_of(line):
    [action] = [action for action in bash.actions(line, "/w") if action.kind == "run"]
    return action.part


SAME = [
    ["npm test", "npm t", "npm run test -- --silent", "npm test 2>&1", "CI=1 npm test --silent", "pnpm test",
     "yarn run test", "bun run test", "npm test -- --watch=false", "npm test -- --reporter dot --color", "timeout 60 npm test",
     "cd . && npm test", "bash -lc 'npm test'", "time npm test -- --maxWorkers 2", "npm test | tee log", "npm test || exit 1"],
    ["pytest", "python -m pytest", "python3 -m pytest -q", "pytest -vv --tb=short", "/usr/bin/pytest",
     "pytest -n 4", "pytest .", "/usr/bin/env pytest --color yes", "coverage run -m pytest", "pytest -p no:cacheprovider"],
    ["uv run pytest", "uv run -m pytest", "uv run python -m pytest"],
    [".venv/bin/pytest", "source .venv/bin/activate && pytest", "/w/.venv/bin/python -m pytest -q"],
    ["pytest tests/a.py", "pytest ./tests/a.py -q", "pytest /w/tests/a.py", "python -m pytest -v tests/a.py"],
    ["pytest -k login", "pytest -klogin", "pytest -q -k 'login'"],
    ["npx jest", "./node_modules/.bin/jest", "yarn jest", "pnpm exec jest", "bunx jest", "npx --yes jest --verbose", "npm exec -- jest"],
    ["npx tsc --noEmit", "tsc", "yarn tsc --noEmit --pretty false", "bun x tsc"],
    ["npx vitest run src/a.test.ts", "vitest src/a.test.ts --reporter=dot", "npx vitest run --reporter verbose src/a.test.ts"],
    ["npm run lint", "yarn lint", "pnpm run lint --format compact"],
    ["npm test -w web", "npm test --workspace=web", "pnpm --filter web test", "yarn workspace web test", "pnpm -F web run test"],
    ["cargo test", "cargo t", "cargo test -j 4", "CARGO_TERM_COLOR=never cargo test"],
    ["go test ./...", "go test -v -count=1 ./... 2>&1", "go test -timeout 30s ./..."],
    ["go test", "go test ."],
    ["make test", "make -j8 test", "make -j 8 test", "gmake test"],
    ["python -m unittest", "python -m unittest discover"],
    ["python -m unittest tests", "python -m unittest discover tests"],
    ["./gradlew test", "gradle test --console plain", "gradle clean test"],
    ["mvn -q test", "./mvnw test"],
    ["docker compose exec -T web pytest", "docker-compose exec web pytest -q", "docker exec -it web python -m pytest"],
    ["npx playwright test -g login", "playwright test --grep login --reporter=list"],
    ["ruff check .", "ruff check", "ruff check --output-format concise"],
    ["cd sub && npm test", "npm --prefix sub test", "(cd sub; npm t)", "cd /w/sub && npm test", "pushd sub && npm test && popd"],
]  # fmt: skip


@pytest.mark.parametrize("lines", SAME, ids=lambda lines: lines[0])
def test_one_run_has_one_part(lines):
    assert {line: part_of(lines[0]) for line in lines} == {line: part_of(line) for line in lines}


DIFFERENT = [
    "npm test", "npm run test:unit", "npm run build", "npm run lint", "npm run lint:fix", "npx jest", "npx vitest", "bun test", "pytest",
    "pytest tests/a.py", "pytest tests/b.py", "pytest -k login", "pytest -m slow", "python -m unittest", "ruff check",
    "ruff format --check",
    "cargo test", "cargo test -p core", "cargo build", "cargo build --release", "cargo clippy", "go test", "go test ./...",
    "go test ./a/...",
    "go test ./a", "go vet ./...", "go build ./...", "GOOS=linux go build ./...", "make", "make test", "make lint test",
    "zig build", "zig build test", "dune build", "dune build @runtest", "make test ONLY=login", "make test ONLY=cart", "tsc",
    "tsc -p tsconfig.test.json", "cd sub && npm test", "npm test -w web", "npm test -- -t login", "npm test -- src/a.test.ts",
    "docker exec web npm test", "gradle test", "gradle :app:test", "jest -c e2e.config.js", "npx eslint src", "npx prettier --check src",
]  # fmt: skip


def test_other_runs_have_other_parts():
    seen = {}
    for line in DIFFERENT:
        key, scope = part_of(line)
        assert seen.setdefault((key, tuple(scope)), line) == line


@pytest.mark.parametrize(
    ("new", "old", "covered"),
    [
        ("pytest", "pytest tests/a.py::test_x -k login", True),
        ("pytest tests", "pytest tests/a.py", True),
        ("pytest tests/a.py", "pytest", False),
        ("pytest tests/a.py -k login", "pytest tests/a.py", False),
        ("pytest tests/a.py", "pytest tests/a.py -k login", True),
        ("pytest tests/a.py tests/b.py", "pytest tests/a.py", True),
        ("pytest tests/a.py", "pytest tests/a.py tests/b.py", False),
        ("pytest tests/a.py", "pytest tests/a.py::test_x", True),
        ("pytest tests/a.py::test_x", "pytest tests/a.py", False),
        ("npm test", "npm test -- src/a.test.ts", True),
        ("npx jest a.test.ts", "npx jest b.test.ts", False),
        ("cargo test", "cargo test -p core name", False),
        ("cargo test --workspace", "cargo test -p core name", True),
        ("npm test", "npm test -w web", False),
        ("npm test --workspaces", "npm test -w web", True),
        ("npm test", "npm test --workspaces", False),
        ("cargo test -p core", "cargo test -p cli", False),
        ("cargo build --release", "cargo build", False),
        ("go test ./...", "go test ./a", True),
        ("go test ./a/...", "go test ./a/b", True),
        ("go test ./a", "go test ./a/b", False),
        ("go test", "go test ./a", False),
        ("GOOS=linux go build ./...", "go build ./...", False),
        ("pytest $F", "pytest $F", False),
        ("cd $D && npm test", "cd $D && npm test", False),
        ("npm run lint:fix", "npm run lint", False),
        # Less is shown or checked, or nothing.
        ("pytest | tail -5", "pytest", False),
        ("pytest", "pytest | tail -5", True),
        ("pytest | tail -50", "pytest | tail -5", True),
        ("pytest | tail -5", "pytest | tail -50", False),
        ("pytest | tail -50", "pytest | tail -50 | grep FAILED", True),
        ("pytest | grep FAILED", "pytest | tail -50 | grep FAILED", False),
        ("pytest | wc -l", "pytest | wc -l", True),
        ("pytest", "pytest | wc -l", False),
        ("pytest -x", "pytest", False),
        ("pytest", "pytest -x", True),
        ("pytest --tb no", "pytest", False),
        ("pytest -qx", "pytest -x", True),
        ("pytest --maxfail 1", "pytest", False),
        ("npm test || true", "npm test", False),
        ("npm test", "npm test || true", True),
        ("npm test 2>/dev/null", "npm test", False),
        ("cargo test --no-run", "cargo test", False),
        ("mypy", "mypy --strict", False),
        ("mypy --strict", "mypy", True),
        ("phpstan analyse --level=8", "phpstan analyse --level=5", True),
        ("phpstan analyse --level=5", "phpstan analyse --level=8", False),
        # What it is without a number, its configuration says.
        ("phpstan analyse --level=0", "phpstan analyse", False),
        ("phpstan analyse -l 8", "phpstan analyse --level 5", True),
        ("npm run lint -- --max-warnings 100", "npm run lint", False),
        ("npm run lint -- --max-warnings 0", "npm run lint", True),
        ("npm run lint", "npm run lint -- --max-warnings 0", False),
        ("pytest --cov --cov-fail-under=0", "pytest --cov", False),
        ("eslint . --ext .ts", "eslint .", False),
        ("ruff check --diff", "ruff check", False),
        # A tool's own word is no target.
        ("phpstan analyse src/A.php", "phpstan analyse", False),
        ("phpstan analyse", "phpstan analyse src/A.php", True),
        ("ty check a", "ty check", False),
        ("cargo nextest run", "cargo nextest run a", True),
        ("zig build test", "zig build test", True),
        # A package is in no other, whatever its name.
        ("mvn test -pl a", "mvn test -pl a/b", False),
        ("mvn test -pl a,b", "mvn test -pl b", True),
        ("turbo test --filter=@x", "turbo test --filter=@x/a", False),
        ("turbo test --filter=./p/* --filter=!./p/a", "turbo test --filter=./p/*", False),
        ("pnpm --filter ./packages test", "pnpm --filter ./packages/a test", False),
        ("nx test a", "nx test a:b", False),
        ("nx affected -t test", "nx run-many -t test", False),
        ("nx run-many -t test", "nx affected -t test", True),
        ("nx run-many -t test -p a b", "nx run-many -p b -t test", True),
        ("nx run-many -t test -p a", "nx run-many -p a b -t test", False),
        ("gradle :app:test", "gradle :app:core:test", False),
        ("gradle :test", "gradle :app:test", False),
        ("gradle test", "gradle :app:test", True),
        ("gradle :a:test :b:build", "gradle :a:build :a:test", False),
        ("gradle :a:build :a:test", "gradle :a:build test", False),
        ("gradle build test", "gradle :a:build :b:test", True),
        ("gradle test :a:test", "gradle test", True),
        ("gradle test", "gradle :a:test test", True),
        ("gradle test :a:build", "gradle test build", False),
        ("gradle test build :a:build", "gradle test build", True),
        ("gradle test :a:build :a:test", "gradle test :a:build", True),
        ("pre-commit run", "pre-commit run --all-files", False),
        ("cargo test", "RUST_BACKTRACE=1 cargo test", False),
        ("RUST_BACKTRACE=1 cargo test", "cargo test", True),
        ("pytest -q -q", "pytest", False),
        ("pytest -q --quiet", "pytest", False),
        ("pytest -q -q", "pytest -qq", True),
        ("pytest -qq", "pytest -qqq", True),
        ("pytest -qqq", "pytest -qq", False),
        ("pytest", "pytest -qq", True),
        ("tox -qq", "tox", False),
        ("eslint . -o report.txt", "eslint .", False),
        ("eslint .", "eslint . -o report.txt", True),
        ("ruff check . --output-file r.txt", "ruff check .", False),
        ("rubocop --out r", "rubocop", False),
        ("rspec --out r", "rspec", False),
        ("mvn test -l out.log", "mvn test", False),
        ("npm run lint -- -o report.txt", "npm run lint", False),
        ("vitest run --reporter json --outputFile r.json", "vitest run", False),
        ("vitest run --reporter=html", "vitest run", False),
        ("node --test --test-reporter-destination=r.txt", "node --test", False),
        ("node --test --test-reporter-destination=stdout", "node --test", True),
        ("golangci-lint run --out-format json:out.json", "golangci-lint run", False),
        ("golangci-lint run --out-format json", "golangci-lint run", True),
        ("pylint x --output-format=json:out.json", "pylint x", False),
        ("pylint x -f json", "pylint x", True),
        ("npx prettier --check . --log-level silent", "npx prettier --check .", False),
        ("phpcs --report=summary", "phpcs", False),
        ("shellcheck -f quiet a.sh", "shellcheck a.sh", False),
        ("docker build --progress quiet .", "docker build .", False),
        ("cargo nextest run -E 'test(foo)'", "cargo nextest run", False),
        ("cargo nextest run", "cargo nextest run -E 'test(foo)'", True),
        ("go test -count=0 ./...", "go test ./...", False),
        ("go test -count 0 ./...", "go test ./...", False),
        ("go test -timeout 1s ./...", "go test ./...", False),
        ("golangci-lint run --timeout 1s", "golangci-lint run", False),
        ("golangci-lint run --timeout 1m30s", "golangci-lint run", True),
        *[
            (f"go test -timeout {time} ./...", "go test ./...", True)
            for time in ("0", "0s", "0m0s", "30s", "90.5s", "1m0s", "1m", "1h0m5s")
        ],
        *[(f"go test -timeout {time} ./...", "go test ./...", False) for time in ("29.5s", "0.5s", "0m20s", "500ms", "100us")],
        # Another environment, or what is not known.
        ("env -i pytest", "pytest", False),
        ("exec -c pytest", "pytest", False),
        ("sudo -i pytest", "sudo pytest", False),
        ("pdm run -s pytest", "pdm run pytest", False),
        ("docker run -i img pytest", "docker run img pytest", True),
        ("TZ=UTC pytest", "pytest", False),
        ("pytest", "TZ=UTC pytest", False),
        ("TZ=UTC pytest", "env TZ=UTC pytest", True),
        ("TZ=UTC pytest", "export TZ=UTC && pytest", True),
        ("TZ=$ZONE pytest", "TZ=$ZONE pytest", False),
        ('PATH="$HOME/bin:$PATH" pytest', 'PATH="$HOME/bin:$PATH" pytest', True),
        ("python3.11 -m pytest", "python -m pytest", False),
        ("uv run pytest", "pytest", False),
        ("uv run --python 3.12 pytest", "uv run pytest", False),
        ("npx jest@29", "npx jest", False),
        ("nvm use 18 && npm test", "npm test", False),
        ("cargo +nightly test", "cargo test", False),
        ("go test -race ./...", "go test ./...", False),
        ("docker compose -f prod.yml exec web pytest", "docker compose exec web pytest", False),
        ("pytest --acme", "pytest", False),
        ("pytest", "pytest --acme", False),
        ("pytest --acme", "pytest --acme", True),
        ("pytest | ./pretty", "pytest", False),
        ("yes | npm test", "npm test", False),
        ("git ls-files | xargs eslint", "git ls-files | xargs eslint", False),
    ],
)
def test_a_run_covers_what_it_runs_again(new, old, covered):
    assert covered is covers(part_of(new), part_of(old))


def test_a_name_says_what_ran():
    assert bash.actions("uv run pytest -q tests/a.py -k login", "/w")[0].name == "pytest tests/a.py login"
    assert bash.actions("npm run build", "/w")[0].name == "npm run build"
    assert bash.actions("go test ./a", "/w")[0].name == "go test a"


def test_a_full_run_ends_both_of_two_partial_runs_and_leaves_other_runs(session: Scenario):
    session.bash("npm test")
    session.bash("pytest tests/a.py")
    session.bash("pytest tests/b.py")
    assert session.bash("pytest") == {"T2": "superseded", "T3": "superseded"}
    assert session.tier("T1") == "session"


def test_two_partial_runs_do_not_end_a_full_run(session: Scenario):
    session.bash("pytest")
    session.bash("pytest tests/a.py")
    session.bash("pytest tests/b.py")
    assert session.live == ["T1", "T2", "T3"]


@pytest.mark.parametrize("first_fails", [True, False])
@pytest.mark.parametrize("second_fails", [True, False])
def test_a_run_is_ended_by_its_next_run_however_either_went(session: Scenario, first_fails, second_fails):
    (session.bash_fails if first_fails else session.bash)("npm test")
    assert (session.bash_fails if second_fails else session.bash)("npm test") == {"T1": "superseded"}
    assert session.live == ["T2"]


def test_a_failing_run_waits_for_its_next_run_however_long_that_takes(session: Scenario):
    session.bash_fails("npm test", "1 failing")
    session.nothing(50)
    session.wait(10_000)
    assert session.tier("T1") == "session"
    assert "T1" in session.live
    assert session.bash("npm test") == {"T1": "superseded"}


def test_a_failed_run_leaves_its_verdict_of_one_line_in_the_reasons(session: Scenario):
    session.bash_fails("npm test", "> app@1.0.0 test\n> jest\n\n  ● login › refuses\n\nTests: 1 failed, 12 passed, 13 total\n\nTime: 1.2 s")
    session.bash("npm test", "Tests: 13 passed, 13 total")
    assert "Tests: 1 failed, 12 passed, 13 total" in session.reasons("T1")
    assert "login › refuses" not in session.reasons("T1")
    assert session.result("T1").verdict == "exit 1: Tests: 1 failed, 12 passed, 13 total"


def test_a_failed_run_that_is_ended_by_a_wider_one_leaves_its_verdict_too(session: Scenario):
    session.bash_fails("pytest tests/a.py", "1 failed, 3 passed in 0.10s")
    session.bash("pytest", "20 passed in 1.00s")
    assert "1 failed, 3 passed in 0.10s" in session.reasons("T1")


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("collected 4 items\n\n====== 4 passed in 0.02s ======", "4 passed in 0.02s"),
        ("warming up\nok  \texample.com/app\t0.01s", "example.com/app"),
        ("x" * 5000 + "\nTests: 2 failed, 2 total", "Tests: 2 failed, 2 total"),
        ("Found 3 errors in 1 file (checked 9 source files)", "Found 3 errors in 1 file (checked 9 source files)"),
    ],
)
def test_the_verdict_is_the_line_that_says_how_it_went(session: Scenario, output, verdict):
    session.bash("npm test", output)
    assert verdict in session.result("T1").verdict
    assert "\n" not in session.result("T1").verdict
    assert len(session.result("T1").verdict) <= 120


def test_a_result_that_is_no_run_and_no_error_has_no_verdict(session: Scenario):
    session.bash("rg failed", "a.py:1: 3 failed")
    session.bash("python a.py", "3 failed")
    session.read("a.py", text="3 failed")
    assert [session.result(id).verdict for id in session.live] == ["", "", ""]
