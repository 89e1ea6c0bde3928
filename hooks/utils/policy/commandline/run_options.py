"""What the options of test, build, lint and type-check tools mean for the identity of a run, as data for `runs.py`.

`v` has a value that does not matter, `k` selects by name, `K` selects in its own way, `b` does so without a value, `p` names a package, `d`
the folder, `V` and `B` (without a value) make it another run. Options not named here have no value and do not matter: verbosity, colour,
coverage, stopping at the first failure.
"""

from __future__ import annotations

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
# What stands behind a script's name goes to a tool that is not known, hence `script`: the options of the usual ones.
_SAME = {
    "bun": "jest", "ava": "jest", "basedpyright": "pyright", "vue-tsc": "tsc", "task": "just", "artisan": "phpunit", "pest": "phpunit",
    "black": "ruff", "biome": "ruff", "prettier": "eslint", "node": "mocha", "flutter": "mix",
}  # fmt: skip


def letters_of(tool: str) -> dict[str, str]:
    """Return the options of a tool with their letters. Made when a run has options: most have none, and a hook reads one command line."""
    text = _OPTIONS.get(_SAME.get(tool, tool), "")
    return {option: group[0] for group in text.split() for option in group[2:].split(",")}
