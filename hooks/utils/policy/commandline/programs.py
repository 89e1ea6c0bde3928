"""The effects of well-known programs; nothing here decides. A program that no table names does something else (`other`), whose output
lives for the session."""

from __future__ import annotations


class Table:
    """Lines `names: the rest`, by each of the names. They stay text: a call looks up a few words, and a dict takes longer to make."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def get(self, name: str, default: str = "") -> str:
        text = self.text
        at = text.find(name)
        while at > 0:
            end = text.find("\n", at)
            names, _, rest = text[text.rfind("\n", 0, at) + 1 : end].partition(": ")
            if name == names or name in names.split():
                return rest
            at = text.find(name, end)
        return default

    __getitem__ = get

    def __contains__(self, name: str) -> bool:
        return self.get(name) != ""


# How the words of a program are read: the name of a reader in bash.py.
KINDS = Table("""
rg grep egrep fgrep zgrep ggrep ugrep ag ack ack-grep: content
find gfind bfs fd fdfind ls ll dir exa eza lsd tree: files
cat bat batcat nl less more head tail sed gsed awk gawk mawk ghead gtail gcat: read
mkdir rm mv cp touch chmod rmdir ln chown chgrp unlink: ack
cd pushd popd: move
export set unset source . sleep true false wait test [ [[ read local declare readonly typeset shopt exit return break continue shift ulimit\
 umask alias unalias let pwd setopt disown jobs fg bg hash stty clear :: aside
echo printf yes: feed
git: git
popkit: popkit
tee: tee
""")

GIT_KINDS = Table("""
commit push add mv rm stage: ack
grep: content
""")
# These show files of commits, where they name them.
GIT_READS = ("show", "cat-file")
GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")

SHELLS = frozenset("bash sh zsh dash ksh fish ash eval".split())
ALIASES = Table("""
gradlew: gradle
mvnw: mvn
gmake: make
py.test: pytest
docker-compose podman podman-compose: docker
py: python
ripgrep: rg
@biomejs/biome: biome
@playwright/test: playwright
typescript: tsc
gotest: go
manage.py: django
nodejs: node
vue-cli-service: vue
Set-Location set-location: cd
Push-Location push-location: pushd
Pop-Location pop-location: popd
""")

# Programs that run another: how many words of their own come before the other's name, then their options with a value.
PREFIXES = Table("""
env: 0 -u --unset -C --chdir
timeout gtimeout: 1 -s --signal -k --kill-after
time: 0 -f --format -o --output
nice: 0 -n --adjustment
ionice: 0 -c --class -n --classdata
sudo: 0 -u --user -g --group -h --host -p --prompt -C -D --chdir -r -t -T -U
doas: 0 -u -C
exec: 0 -a
stdbuf: 0 -i -o -e --input --output --error
caffeinate: 0 -t -w
xvfb-run: 0 -e -f -n -p -s -w --server-args --server-num --error-file --auth-file
dbus-run-session: 0 --config-file --dbus-daemon
dotenv: 0 -e -c -p
npx: 0 -p --package -w --workspace
bunx: 0 -p --package
xargs: 0 -I -i -n -P -L -d -s -a -E --max-args --max-procs --max-lines --replace --delimiter --arg-file
uvx: 0 --from --with -p --python --index-url
c8: 0 -r --reporter -o --reports-dir -x --exclude -n --include
nyc: 0 -r --reporter -x --exclude -n --include
nohup setsid command builtin unbuffer winpty chronic cross-env rtk: 0
""")
# The same for programs that do so only in a subcommand, which is the first word that is no option: its names come behind the number.
PREFIX_SUBCOMMANDS = Table("""
uv: 0 run --with --with-requirements --extra --group --only-group -p --python --project --package --env-file --directory
poetry: 0 run -C --directory -P --project
pipenv: 0 run
pdm: 0 run -p --project
hatch: 0 run -e --env
rye: 0 run -p --package
pixi: 0 run -e --environment --manifest-path
conda mamba: 0 run -n --name -p --prefix --cwd
pipx: 0 run --spec --python
coverage: 0 run --source --rcfile --omit --include --data-file --context --concurrency
bundle: 0 exec --gemfile
npm: 0 exec,x
pnpm: 0 exec,dlx,x
yarn: 0 exec,dlx
bun: 0 x
doppler: 0 run -p --project -c --config -t --token
op: 0 run --env-file
infisical: 0 run --env --path --projectId
dotenvx: 0 run -f --env-file -e --env
rustup: 1 run
direnv: 1 exec
mise: 0 exec,x -C --cd
pyenv rbenv: 0 exec
docker: 1 exec,run -e --env -u --user -w --workdir -f --file -p --project-name --profile --index --env-file --context -v --volume --name\
 --network --entrypoint --platform --mount
""")
# Interpreters: of a script that is a known tool, the tool counts.
INTERPRETERS = frozenset(("python", "node", "php", "ruby"))

# What a word in the name of a script, task or target says about its kind.
WORD_FAMILIES = Table("""
test tests unit e2e integration spec specs coverage cov bench jest vitest pytest cypress playwright smoke t: test
build compile bundle assemble assembledebug assemblerelease package dist pack tauri-build all: build
lint eslint format fmt prettier style check ci verify validate clippy stylelint biome ruff analyze vet: lint
typecheck types type tsc mypy pyright typing: types
""")
# Scripts and tasks whose name begins so do something else, whatever follows: `start:test`, `deploy:build`.
NO_RUN = frozenset(
    "start dev serve watch preview deploy release publish clean install prepare postinstall generate gen db migrate seed docker"
    " storybook codegen setup run update upgrade bump".split()
)

# Tools that do one thing.
TOOLS = Table("""
jest vitest mocha ava tap pytest nose2 nosetests tox nox gotestsum rspec phpunit pest ctest karma bats cucumber behave unittest testcafe\
 wdio prove paratest stestr ward: test
tsc vue-tsc mypy pyright basedpyright ty pytype svelte-check pyre dialyzer: types
eslint stylelint flake8 pylint golangci-lint staticcheck shellcheck hadolint markdownlint markdownlint-cli markdownlint-cli2 rubocop\
 standard xo oxlint jshint actionlint yamllint vale bandit swiftlint ktlint clang-tidy cppcheck commitlint knip phpstan phpcs psalm\
 ansible-lint ruff-lsp pycodestyle pydocstyle vulture lint-imports detekt tflint prettier black isort gofmt rustfmt yapf: lint
webpack esbuild rollup parcel tsup tsdown unbuild electron-builder sphinx-build build cmake wasm-bindgen: build
""")
# Words behind these that only say what they do anyway.
OWN_WORDS = frozenset(
    "vitest run,golangci-lint run,unittest discover,phpstan analyse,phpstan analyze,ty check,pyre check,stestr run,swiftlint lint,tap run"
    ",tox run,tox r".split(",")
)
# They are runs only with one of these; else they change files.
ONLY_WITH = Table("""
prettier: --check -c -l --list-different
black: --check --diff
isort: --check --check-only -c
gofmt: -l -d
rustfmt: --check
cmake: --build
yapf: --diff -d
""")

# Tools with subcommands, by what these do; what is not named here is something else.
SUBCOMMANDS = Table("""
cargo: test=test,t,bench,nextest build=build,b types=check,c lint=clippy,fmt
go: test=test build=build lint=vet
dotnet: test=test build=build lint=format
swift bun bazel forge vite vite-node remix react-scripts craco docusaurus gatsby tauri zig cabal stack anchor wasm-pack trunk uv poetry\
 flit maturin hugo react-router svelte-kit crystal swc expo-cli: test=test build=build
xcodebuild: test=test,test-without-building build=build,build-for-testing lint=analyze
mix: test=test build=compile lint=format,credo types=dialyzer
flutter: test=test build=build lint=analyze
dart: test=test lint=analyze,format build=compile
deno: test=test,bench lint=lint,fmt types=check build=compile
node: test=--test
next: build=build lint=lint types=typegen
nuxt nuxi: build=build types=typecheck
astro: build=build types=check
ng: test=test,e2e build=build lint=lint
vue: build=build lint=lint test=test:unit
expo: lint=lint build=export
playwright artisan lein: test=test
cypress: test=run
biome: lint=check,lint,ci,format
ruff: lint=check,format
hatch: test=test build=build lint=fmt
pre-commit: lint=run
django: test=test lint=check
rails: test=test,test:system
docker: build=build,buildx,compose
helm: lint=lint
terraform: lint=validate,fmt
meson hardhat: test=test build=compile
composer: test=test build=build lint=validate
buf: lint=lint build=build
gleam: test=test build=build types=check lint=format
dune: test=test,runtest build=build
mkdocs: build=build
""")

# Runners of tasks by name. Of `TASKS_ANY`, every task is a run; of the others, those whose name says so.
TASKS_ANY = frozenset(("make", "just", "task", "ninja"))
TASKS = frozenset("gradle mvn turbo nx lerna sbt rake grunt gulp invoke inv mage ant moon".split()) | TASKS_ANY
SCRIPT_RUNNERS = ("npm", "yarn", "pnpm", "bun")
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
TELLING_VARIABLES = ("RUST_BACKTRACE",)
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
