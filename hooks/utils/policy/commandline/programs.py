"""Tables of what well-known programs do, and what the options of their runs mean. Nothing here decides: `bash.py` and `runs.py` read it.

A program that no table names does something else (`other`), whose output lives for the session.
"""

from __future__ import annotations

# How the words of a program are read: the name of a reader in bash.py.
KINDS = {
    **dict.fromkeys("rg grep egrep fgrep zgrep ggrep ugrep ag ack ack-grep".split(), "content"),
    **dict.fromkeys("find gfind bfs fd fdfind ls ll dir exa eza lsd tree".split(), "files"),
    **dict.fromkeys("cat bat batcat nl less more head tail sed gsed awk gawk mawk ghead gtail gcat".split(), "read"),
    **dict.fromkeys("mkdir rm mv cp touch chmod rmdir ln chown chgrp unlink".split(), "ack"),
    **dict.fromkeys("cd pushd popd".split(), "move"),
    **dict.fromkeys(
        "export set unset source . sleep true false : wait test [ [[ read local declare readonly typeset shopt trap exit return break"
        " continue shift ulimit umask alias unalias let pwd setopt disown jobs fg bg hash stty clear".split(),
        "aside",
    ),
    **dict.fromkeys("echo printf yes".split(), "feed"),
    "git": "git",
    "popkit": "popkit",
    "tee": "tee",
}

GIT_KINDS = {**dict.fromkeys(("commit", "push", "add", "mv", "rm", "stage"), "ack"), "grep": "content"}
GIT_VALUES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))

SHELLS = frozenset("bash sh zsh dash ksh fish ash eval".split())
ALIASES = {
    "gradlew": "gradle", "mvnw": "mvn", "gmake": "make", "py.test": "pytest", "docker-compose": "docker",
    "podman": "docker", "py": "python", "ripgrep": "rg", "@biomejs/biome": "biome", "@playwright/test": "playwright", "typescript": "tsc",
    "gotest": "go", "manage.py": "django", "nodejs": "node", "vue-cli-service": "vue", "podman-compose": "docker",
}  # fmt: skip

# Programs that run another: their options with a value, and how many words of their own come before the other's name.
PREFIXES = {
    "env": ("-u --unset -C --chdir", 0),
    "timeout": ("-s --signal -k --kill-after", 1),
    "gtimeout": ("-s --signal -k --kill-after", 1),
    "time": ("-f --format -o --output", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c --class -n --classdata", 0),
    "sudo": ("-u --user -g --group -h --host -p --prompt -C -D --chdir -r -t -T -U", 0),
    "doas": ("-u -C", 0),
    "exec": ("-a", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "caffeinate": ("-t -w", 0),
    "xvfb-run": ("-e -f -n -p -s -w --server-args --server-num --error-file --auth-file", 0),
    "dbus-run-session": ("--config-file --dbus-daemon", 0),
    "dotenv": ("-e -c -p", 0),
    "npx": ("-p --package -w --workspace", 0),
    "bunx": ("-p --package", 0),
    "xargs": ("-I -i -n -P -L -d -s -a -E --max-args --max-procs --max-lines --replace --delimiter --arg-file", 0),
    "uvx": ("--from --with -p --python --index-url", 0),
    "c8": ("-r --reporter -o --reports-dir -x --exclude -n --include", 0),
    "nyc": ("-r --reporter -x --exclude -n --include", 0),
    **dict.fromkeys("nohup setsid command builtin unbuffer winpty chronic cross-env rtk".split(), ("", 0)),
}
_DOCKER_VALUES = (
    "-e --env -u --user -w --workdir -f --file -p --project-name --profile --index --env-file --context -v --volume --name --network"
    " --entrypoint --platform --mount"
)
# The same for programs that do so only in a subcommand, which is the first word that is no option.
PREFIX_SUBCOMMANDS = {
    "uv": ("run", "--with --with-requirements --extra --group --only-group -p --python --project --package --env-file --directory", 0),
    "poetry": ("run", "-C --directory -P --project", 0),
    "pipenv": ("run", "", 0),
    "pdm": ("run", "-p --project", 0),
    "hatch": ("run", "-e --env", 0),
    "rye": ("run", "-p --package", 0),
    "pixi": ("run", "-e --environment --manifest-path", 0),
    "conda": ("run", "-n --name -p --prefix --cwd", 0),
    "mamba": ("run", "-n --name -p --prefix --cwd", 0),
    "pipx": ("run", "--spec --python", 0),
    "coverage": ("run", "--source --rcfile --omit --include --data-file --context --concurrency", 0),
    "bundle": ("exec", "--gemfile", 0),
    "npm": ("exec x", "", 0),
    "pnpm": ("exec dlx x", "", 0),
    "yarn": ("exec dlx", "", 0),
    "bun": ("x", "", 0),
    "doppler": ("run", "-p --project -c --config -t --token", 0),
    "op": ("run", "--env-file", 0),
    "infisical": ("run", "--env --path --projectId", 0),
    "dotenvx": ("run", "-f --env-file -e --env", 0),
    "rustup": ("run", "", 1),
    "direnv": ("exec", "", 1),
    "mise": ("exec x", "-C --cd", 0),
    "pyenv": ("exec", "", 0),
    "rbenv": ("exec", "", 0),
    "docker": ("exec run", _DOCKER_VALUES, 1),
}  # fmt: skip
# Interpreters: of a script that is a known tool, the tool counts.
INTERPRETERS = frozenset(("python", "node", "php", "ruby"))
PYTHON_VALUES = frozenset(("-W", "-X", "-Q", "--check-hash-based-pycs"))

# What a word in the name of a script, task or target says about its kind.
WORD_FAMILIES = {
    **dict.fromkeys(
        "test tests unit e2e integration spec specs coverage cov bench jest vitest pytest cypress playwright smoke t".split(), "test"
    ),
    **dict.fromkeys("build compile bundle assemble assembledebug assemblerelease package dist pack tauri-build all".split(), "build"),
    **dict.fromkeys(
        "lint eslint format fmt prettier style check ci verify validate clippy stylelint biome ruff analyze vet".split(), "lint"
    ),
    **dict.fromkeys("typecheck types type tsc mypy pyright typing".split(), "types"),
}
# Scripts and tasks whose name begins so do something else, whatever follows: `start:test`, `deploy:build`.
NO_RUN = frozenset(
    "start dev serve watch preview deploy release publish clean install prepare postinstall generate gen db migrate seed docker"
    " storybook codegen setup run update upgrade bump".split()
)

# Tools that do one thing.
TOOLS = {
    **dict.fromkeys(
        "jest vitest mocha ava tap pytest nose2 nosetests tox nox gotestsum rspec phpunit pest ctest karma bats cucumber behave unittest"
        " testcafe wdio prove paratest stestr ward".split(),
        "test",
    ),
    **dict.fromkeys("tsc vue-tsc mypy pyright basedpyright ty pytype svelte-check pyre dialyzer".split(), "types"),
    **dict.fromkeys(
        "eslint stylelint flake8 pylint golangci-lint staticcheck shellcheck hadolint markdownlint markdownlint-cli markdownlint-cli2"
        " rubocop standard xo oxlint jshint actionlint yamllint vale bandit swiftlint ktlint clang-tidy cppcheck commitlint knip"
        " phpstan psalm ansible-lint ruff-lsp pycodestyle pydocstyle vulture lint-imports detekt tflint prettier black isort gofmt"
        " rustfmt yapf".split(),
        "lint",
    ),
    **dict.fromkeys(
        "webpack esbuild rollup parcel tsup tsdown unbuild electron-builder sphinx-build build cmake wasm-bindgen".split(), "build"
    ),
}
# They are runs only with one of these; else they change files.
ONLY_WITH = {
    "prettier": ("--check", "-c", "-l", "--list-different"), "black": ("--check", "--diff"), "isort": ("--check", "--check-only", "-c"),
    "gofmt": ("-l", "-d"), "rustfmt": ("--check",), "cmake": ("--build",), "yapf": ("--diff", "-d"),
}  # fmt: skip

# Tools with subcommands; what is not named here is something else.
_TEST_BUILD = {"test": "test", "build": "build"}
SUBCOMMANDS = {
    "cargo": {**_TEST_BUILD, "t": "test", "b": "build", "check": "types", "c": "types", "clippy": "lint", "bench": "test", "fmt": "lint",
              "nextest": "test"},
    "go": {**_TEST_BUILD, "vet": "lint"},
    "dotnet": {**_TEST_BUILD, "format": "lint"},
    "swift": _TEST_BUILD,
    "xcodebuild": {**_TEST_BUILD, "build-for-testing": "build", "test-without-building": "test", "analyze": "lint"},
    "mix": {"test": "test", "compile": "build", "format": "lint", "credo": "lint", "dialyzer": "types"},
    "flutter": {**_TEST_BUILD, "analyze": "lint"},
    "dart": {"test": "test", "analyze": "lint", "compile": "build", "format": "lint"},
    "deno": {"test": "test", "lint": "lint", "check": "types", "fmt": "lint", "bench": "test", "compile": "build"},
    "bun": _TEST_BUILD,
    "node": {"--test": "test"},
    "next": {"build": "build", "lint": "lint", "typegen": "types"},
    "nuxt": {"build": "build", "typecheck": "types"},
    "nuxi": {"build": "build", "typecheck": "types"},
    "astro": {"build": "build", "check": "types"},
    "ng": {**_TEST_BUILD, "lint": "lint", "e2e": "test"},
    "vue": {"build": "build", "lint": "lint", "test:unit": "test"},
    "expo": {"lint": "lint", "export": "build"},
    "playwright": {"test": "test"},
    "cypress": {"run": "test"},
    "biome": {"check": "lint", "lint": "lint", "ci": "lint", "format": "lint"},
    "ruff": {"check": "lint", "format": "lint"},
    "hatch": {**_TEST_BUILD, "fmt": "lint"},
    "pre-commit": {"run": "lint"},
    "django": {"test": "test", "check": "lint"},
    "artisan": {"test": "test"},
    "rails": {"test": "test", "test:system": "test"},
    "docker": {"build": "build", "buildx": "build", "compose": "build"},
    "bazel": _TEST_BUILD,
    "helm": {"lint": "lint"},
    "terraform": {"validate": "lint", "fmt": "lint"},
    "meson": {"test": "test", "compile": "build"},
    "buf": {"lint": "lint", "build": "build"},
    "hardhat": {"test": "test", "compile": "build"},
    "forge": _TEST_BUILD,
    "gleam": {**_TEST_BUILD, "check": "types", "format": "lint"},
    "dune": {**_TEST_BUILD, "runtest": "test"},
    "lein": {"test": "test"},
    "mkdocs": {"build": "build"},
    **dict.fromkeys(
        "vite vite-node remix react-scripts craco docusaurus gatsby tauri zig cabal stack anchor wasm-pack trunk uv poetry flit maturin"
        " hugo react-router svelte-kit crystal composer swc expo-cli".split(),
        _TEST_BUILD,
    ),
}  # fmt: skip

# Runners of tasks by name. Of `TASKS_ANY`, every task is a run; of the others, those whose name says so.
TASKS_ANY = frozenset(("make", "just", "task", "ninja"))
TASKS = frozenset("gradle mvn turbo nx lerna sbt rake grunt gulp invoke inv mage ant moon".split()) | TASKS_ANY
SCRIPT_RUNNERS = frozenset(("npm", "yarn", "pnpm", "bun"))
# Subcommands of package managers that are never the name of a script.
MANAGER_COMMANDS = frozenset(
    "install i ci add remove rm uninstall un update up upgrade link unlink outdated audit why list ls info view publish pack init create"
    " config cache login logout whoami dedupe prune rebuild store import patch set version plugin constraints licenses fetch env setup"
    " start stop restart explain search root bin help doctor completion approve-builds pm node dlx exec x deploy".split()
)

# Variables in front of a run that make it another.
VARIANT_VARIABLES = ("GOOS=", "GOARCH=", "NODE_ENV=", "RUSTFLAGS=", "TOXENV=", "CGO_ENABLED=")
# First words behind a tool that make it do something else than its check.
ADMINISTRATION = frozenset(
    "sync init install config list ls-config migrate codegen open ui login linters cache --init --showConfig --listTests".split()
)
# Of these the targets are Go's package patterns.
GO_PATTERNS = frozenset(("go", "gotestsum", "golangci-lint", "staticcheck"))
# The words behind these are no paths but names of tests.
NAMED_TARGETS = frozenset(("cargo", "swift", "django", "rails", "xcodebuild", "zig", "gradle", "mvn"))

# What the options of test, build, lint and type-check tools mean for the identity of a run: `v` has a value that does not matter, `k`
# selects by name, `K` selects in its own way, `b` does so without a value, `p` names a package, `d` the folder, `V` and `B` (without a
# value) make it another run. Other options have no value and do not matter: verbosity, colour, coverage, stopping at the first failure.
_OPTIONS = {
    "pytest": (
        "k:-k K:-m,--deselect,--ignore b:--lf,--last-failed,--sw,--stepwise B:--co,--collect-only,--doctest-modules V:-c,--rootdir"
        " v:-n,-p,-o,-W,-r,--cov,--tb,--maxfail,--confcutdir,--junitxml,--timeout,--durations,--log-level,--log-cli-level"
        " v:--cov-report,--cov-config,--numprocesses,--dist,--basetemp,--color,--capture,--import-mode,--override-ini"
    ),
    "jest": (
        "k:-t,--testNamePattern K:--testPathPattern,--testPathPatterns,--shard,--changedSince,--testPathIgnorePatterns"
        " p:--selectProjects b:-o,--onlyChanged,-f,--onlyFailures V:-c,--config,--rootDir,--env v:-w,--maxWorkers,--reporters"
        " v:--testTimeout,--coverageReporters,--coverageDirectory,--outputFile"
    ),
    "vitest": (
        "k:-t,--testNamePattern p:--project K:--shard,--changed,--exclude d:--dir,--root,-r V:-c,--config v:--reporter"
        " v:--outputFile,--pool,--environment,--maxWorkers,--minWorkers,--testTimeout,--hookTimeout,--bail,--retry"
    ),
    "mocha": "k:-g,--grep,-f,--fgrep V:--config,--spec v:-r,--require,-R,--reporter,-t,--timeout,--ui,-u,--extension,--retries,-j,--jobs",
    "playwright": (
        "k:-g,--grep p:--project K:--grep-invert,--shard b:--last-failed V:-c,--config v:--reporter,-j,--workers,--retries"
        " v:--timeout,--trace,--output,--max-failures,--repeat-each"
    ),
    "cypress": "K:-s,--spec B:--component,--e2e V:-C,--config-file v:-b,--browser,-c,--config,--reporter,-e,--env,-r d:-P,--project",
    "tsc": "V:-p,--project,-b,--build v:--target,--module,--outDir,--rootDir,--lib,--jsx,--moduleResolution,--types,--baseUrl",
    "mypy": "K:-p,--package,-m,--module V:--config-file,--python-version v:--cache-dir,--exclude,--follow-imports,--python-executable",
    "pyright": "V:-p,--project v:--pythonversion,--pythonpath,--level",
    "eslint": (
        "V:--rule,-c,--config v:-f,--format,--ext,--max-warnings,--cache-location,-o,--output-file,--ignore-path,--ignore-pattern"
        " v:--resolve-plugins-relative-to,--parser,--plugin,--rulesdir,--report-unused-disable-directives-severity"
    ),
    "ruff": "V:--select,--ignore,--extend-select,--config v:--output-format,--target-version,--line-length,--exclude,-o",
    "cargo": (
        "p:-p,--package,--exclude K:--bin,--test,--example,--bench,--skip b:--lib,--bins,--tests,--doc,--examples,--benches"
        " V:--features,-F,--target,--manifest-path,--profile B:--release,-r,--all-features,--no-default-features,--ignored v:-j"
        " v:--jobs,--color,--message-format,--target-dir,--test-threads,--config,-Z,-E d:-C"
    ),
    "go": (
        "k:-run,--run K:-skip V:-bench,-tags,-fuzz,-mod d:-C v:-count,-timeout,-o,-ldflags,-gcflags,-coverprofile,-p,-parallel"
        " v:-cpu,-covermode,-coverpkg,-benchtime,-vet,-asmflags,-exec,-cpuprofile,-memprofile,-fuzztime,-shuffle"
    ),
    "gotestsum": "v:--format,-f,--junitfile,--jsonfile,--rerun-fails,--packages",
    "golangci-lint": "V:-E,-D,--enable,--disable,--build-tags,-c,--config v:--timeout,--out-format,-j,--concurrency",
    "make": "V:-f,--file,--makefile v:-j,--jobs,-l,-o,-W d:-C,--directory",
    "just": "V:-f,--justfile d:-d,--working-directory",
    "ninja": "v:-j,-k,-l d:-C",
    "gradle": "k:--tests V:-P,-x,--exclude-task v:-I,--max-workers,--console,--init-script d:-p,--project-dir",
    "mvn": "p:-pl,--projects k:-Dtest,-Dit.test V:-P v:-T,--threads,-s,--settings d:-f,--file",
    "turbo": "p:--filter,-F v:--concurrency,--output-logs,--log-order,--cache-dir d:--cwd",
    "nx": "p:-p,--projects,--project K:--base,--head,--exclude V:-c,--configuration v:--parallel,--output-style,--runner",
    "lerna": "p:--scope K:--ignore,--since v:--concurrency",
    "cmake": "V:-t,--target,--config v:-j,--parallel d:--build",
    "ctest": "k:-R,--tests-regex K:-L,-E V:-C v:-j,--parallel,--timeout d:--test-dir",
    "dotnet": "k:--filter V:-f,--framework,-c,--configuration v:-v,--verbosity,-l,--logger,-o,--output,-r,--results-directory,--collect,-s",
    "swift": "k:--filter K:--skip,--target,--product V:-c,--configuration v:-j,--jobs,-Xswiftc,--scratch-path d:--package-path",
    "xcodebuild": (
        "p:-scheme K:-only-testing,-skip-testing V:-workspace,-project,-destination,-sdk,-configuration,-testPlan,-target"
        " v:-derivedDataPath,-resultBundlePath,-arch,-jobs,-parallel-testing-enabled"
    ),
    "rspec": "k:-e,--example K:-t,--tag b:--only-failures v:-f,--format,-r,--require,-o,--out,-I,--seed,--order",
    "phpunit": "k:--filter K:--group,--exclude-group,--testsuite V:-c,--configuration v:-d,--coverage-html,--bootstrap,--log-junit",
    "mix": "K:--only,--exclude v:--max-failures,--seed,--timeout,--formatter",
    "unittest": "k:-k V:-p,--pattern,-s,--start-directory,-t",
    "tox": "k:-e V:-c v:--workdir,-p",
    "nox": "k:-s,--session,-e K:-k,-t,-p V:-f,--noxfile",
    "docker": (
        "V:-f,--file,--target,--build-arg v:-t,--tag,--progress,--platform,--cache-from,--cache-to,-o,--output,--network,--secret v:--label"
    ),
    "deno": "k:--filter V:-c,--config v:--reporter,--junit-path,--coverage",
    "django": "k:-k K:--tag,--exclude-tag V:--settings v:--parallel,-v,--verbosity",
    "bazel": "k:--test_filter V:--config,-c v:--test_output,-j,--jobs",
    "pre-commit": "v:-c,--config,--color",
    "commitlint": "V:-f,--from,-t,--to,-e,--edit v:-g,--config",
    "vale": "V:--config v:--output,--minAlertLevel,--glob",
    "vite": "V:--mode,-m,-c,--config v:--outDir,-l,--logLevel,--base",
    "script": (
        "k:-t,--testNamePattern,-g,--grep,-k p:-w,--workspace,--filter,--project,--scope,-F d:--prefix,--cwd,--dir,-C"
        " K:--testPathPattern,--testPathPatterns,--shard,--spec,-m,--ignore V:-c,--config,--mode v:--reporter,--reporters"
        " v:--maxWorkers,--testTimeout,--timeout,--coverageReporters,--format,--max-warnings,--retries,--workers,--output"
        " v:--outputFile,--tb,--maxfail,--browser,--loglevel,--log-level,--concurrency"
    ),
}
# What follows a script's name goes to a tool that is not known, hence `script`: the options of the usual ones.
_SAME = {
    "bun": "jest", "ava": "jest", "basedpyright": "pyright", "vue-tsc": "tsc", "task": "just", "artisan": "phpunit", "pest": "phpunit",
    "black": "ruff", "biome": "ruff", "prettier": "eslint", "node": "mocha", "flutter": "mix",
}  # fmt: skip


def letters_of(tool: str) -> dict[str, str]:
    """Return the options of a tool with their letters. Made when a run has options: most have none, and a hook reads one command line."""
    text = _OPTIONS.get(_SAME.get(tool, tool), "")
    return {option: group[0] for group in text.split() for option in group[2:].split(",")}
