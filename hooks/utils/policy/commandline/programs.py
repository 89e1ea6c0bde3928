"""The effects of well-known programs. `bash.py`, `wrappers.py` and `runs.py` read them; nothing here decides.

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
        "export set unset source . sleep true false : wait test [ [[ read local declare readonly typeset shopt exit return break"
        " continue shift ulimit umask alias unalias let pwd setopt disown jobs fg bg hash stty clear".split(),
        "aside",
    ),
    **dict.fromkeys("echo printf yes".split(), "feed"),
    "git": "git",
    "popkit": "popkit",
    "tee": "tee",
}

GIT_KINDS = {**dict.fromkeys(("commit", "push", "add", "mv", "rm", "stage"), "ack"), "grep": "content"}
# These show files of commits, where they name them.
GIT_READS = frozenset(("show", "cat-file"))
GIT_VALUES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))

SHELLS = frozenset("bash sh zsh dash ksh fish ash eval".split())
ALIASES = {
    "gradlew": "gradle", "mvnw": "mvn", "gmake": "make", "py.test": "pytest", "docker-compose": "docker",
    "podman": "docker", "py": "python", "ripgrep": "rg", "@biomejs/biome": "biome", "@playwright/test": "playwright", "typescript": "tsc",
    "gotest": "go", "manage.py": "django", "nodejs": "node", "vue-cli-service": "vue", "podman-compose": "docker",
    "Set-Location": "cd", "Push-Location": "pushd", "Pop-Location": "popd", "set-location": "cd", "push-location": "pushd",
    "pop-location": "popd",
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
        " phpstan phpcs psalm ansible-lint ruff-lsp pycodestyle pydocstyle vulture lint-imports detekt tflint prettier black isort gofmt"
        " rustfmt yapf".split(),
        "lint",
    ),
    **dict.fromkeys(
        "webpack esbuild rollup parcel tsup tsdown unbuild electron-builder sphinx-build build cmake wasm-bindgen".split(), "build"
    ),
}
# Words behind these that only say what they do anyway.
OWN_WORDS = frozenset(
    "vitest run,golangci-lint run,unittest discover,phpstan analyse,phpstan analyze,ty check,pyre check,stestr run,swiftlint lint,tap run"
    ",tox run,tox r".split(",")
)
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
    "composer": {**_TEST_BUILD, "validate": "lint"},
    "buf": {"lint": "lint", "build": "build"},
    "hardhat": {"test": "test", "compile": "build"},
    "forge": _TEST_BUILD,
    "gleam": {**_TEST_BUILD, "check": "types", "format": "lint"},
    "dune": {**_TEST_BUILD, "runtest": "test"},
    "lein": {"test": "test"},
    "mkdocs": {"build": "build"},
    **dict.fromkeys(
        "vite vite-node remix react-scripts craco docusaurus gatsby tauri zig cabal stack anchor wasm-pack trunk uv poetry flit maturin"
        " hugo react-router svelte-kit crystal swc expo-cli".split(),
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
# Those that change nothing that a run checks.
NEUTRAL_VARIABLES = frozenset(
    "CI FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PY_COLORS"
    " RUST_LOG_STYLE CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN PAGER GIT_PAGER MANPAGER LESS NODE_NO_WARNINGS NO_UPDATE_NOTIFIER"
    " npm_config_loglevel NEXT_TELEMETRY_DISABLED TURBO_TELEMETRY_DISABLED DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO GRADLE_COLOR"
    " DOCKER_BUILDKIT BUILDKIT_PROGRESS COMPOSE_PROGRESS UV_NO_PROGRESS PIP_DISABLE_PIP_VERSION_CHECK DEBIAN_FRONTEND GIT_EDITOR EDITOR"
    " PLAYWRIGHT_HTML_OPEN CARGO_INCREMENTAL".split()
)
# Those that make it say more.
TELLING_VARIABLES = frozenset(("RUST_BACKTRACE",))
# Programs behind which whatever follows in the line runs in another environment (environments.py).
ENVIRONMENT = frozenset(
    "export declare typeset unset source . set nvm fnm conda mamba micromamba pyenv rbenv asdf mise sdk module volta workon deactivate"
    " chruby rvm direnv".split()
)
# Commands that switch the environment of all that follow them in a session: by their first words. In the values: the programs to which it
# matters, none for every run.
SWITCHES = {
    **dict.fromkeys(
        "pyenv local;pyenv global;asdf local;asdf global;asdf set;mise use;rbenv local;rbenv global;nodenv local;rustup override"
        ";rustup default;volta pin;nvm alias;fnm default;jenv local;jenv global;goenv local;goenv global;poetry env;sdk default".split(";"),
        (),
    ),
    "kubectl config": ("kubectl", "helm"), "kubectx": ("kubectl", "helm"), "kubens": ("kubectl", "helm"),
    "terraform workspace": ("terraform",), "docker context": ("docker",), "gcloud config": ("gcloud",), "az account": ("az",),
    "gh auth": ("gh",), "supabase link": ("supabase",), "vercel link": ("vercel",), "firebase use": ("firebase",),
}  # fmt: skip
SWITCH_LOOKS = frozenset("view get-contexts current-context show list ls get-clusters status which".split())
# First words behind a tool that make it do something else than its check.
ADMINISTRATION = frozenset(
    "sync init install config list ls-config migrate codegen open ui login linters cache --init --showConfig --listTests".split()
)
# Of these the targets are Go's package patterns.
GO_PATTERNS = frozenset(("go", "gotestsum", "golangci-lint", "staticcheck"))
# The words behind these are no paths but names of tests.
NAMED_TARGETS = frozenset(("cargo", "swift", "django", "rails", "xcodebuild", "gradle", "mvn"))
