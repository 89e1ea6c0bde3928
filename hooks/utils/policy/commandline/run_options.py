"""The options of runs: whether a run with one covers a run without it.

An option that is not listed makes a run like no run without it. Letters, in capitals with a value:

- `n`, `v` (with a value): does not matter: how it reports, where it writes, how many at a time
- `l`, `L`: checks or shows less, so that such a run does not stand for one without it: stops early, is silent, runs nothing, cannot fail
- `m`, `M`: checks or shows more, so that only a run with it stands for such a one
- `r`: does not matter once; given again, or in a cluster, it shows less
- `N`: a number, and more of it is stricter, but perhaps not than none · `X`: a number, and more of it shows more
- `F`: a format, perhaps with a file that it goes to behind a colon · `T`: a time, which shows less if it is less than 30 seconds
- `b`, `k`: selects tests, `k` by the name that follows, `K` in its own way · `p`: a package · `a`: all packages · `d`: the folder
- `B`, `V`: makes it another run

An option with `=value` is listed where that value means something else than others.
"""

from __future__ import annotations

from .programs import Table

# Of every tool that does not say otherwise.
_ANY = "n:--color,--colour,--colors,--no-color,--verbose,--no-progress,--progress,--"
_OPTIONS = Table("""
pytest: k:-k K:-m,--deselect,--ignore b:--lf,--last-failed,--sw,--stepwise V:-c,--rootdir,-p,-o,--override-ini,-W\
 v:-n,-r,--maxprocesses,--confcutdir,--junitxml,--junit-xml,--timeout,--durations-min,--log-level,--log-cli-level,--tb\
 v:--cov-report,--cov-config,--numprocesses,--dist,--basetemp,--color,--capture,--import-mode,--timeout-method,--html r:-q,--quiet\
 n:-v,-vv,-vvv,-l,--showlocals,--no-header,--strict-markers,--strict-config,--ff,--failed-first,--nf,--cache-clear\
 n:-ra,-rA,-rs,-rf,-rfE,-rN,--full-trace,--strict,-p=no:cacheprovider,-p=no:randomly,-p=no:xdist,--pretty\
 n:--disable-pytest-warnings,--sugar,--no-sugar,-pno:cacheprovider,--force-sugar\
 l:-x,--exitfirst,--co,--collect-only,--tb=no,--tb=line,--no-summary,--show-capture=no,--disable-warnings,--no-cov,-rx L:--maxfail,--reruns\
 m:-s,--capture=no,--doctest-modules,--runxfail,--cov-branch,--setup-show M:--cov V:--cov-fail-under M:--durations
jest: k:-t,--testNamePattern K:--testPathPattern,--testPathPatterns,--shard,--changedSince,--testPathIgnorePatterns p:--selectProjects\
 b:-o,--onlyChanged,-f,--onlyFailures V:-c,--config,--rootDir,--env\
 v:-w,--maxWorkers,--reporters,--testTimeout,--coverageReporters,--coverageDirectory,--outputFile,--maxConcurrency\
 n:--ci,-i,--runInBand,--no-cache,--forceExit,--detectOpenHandles,--watchAll=false,--watch=false,--no-watchman,--watchman=false\
 n:--no-watchAll,--no-watch,--coverage=false,--runTestsByPath,--expand,-e,--json,--no-coverage l:--bail,-b,--silent,--passWithNoTests\
 m:--coverage,--all,--collectCoverage,--logHeapUsage
vitest: k:-t,--testNamePattern p:--project K:--shard,--changed,--exclude d:--dir,--root,-r V:-c,--config,--environment v:--reporter,--pool\
 l:--reporter=html,--reporter=blob L:--outputFile\
 v:--maxWorkers,--minWorkers,--testTimeout,--hookTimeout,--teardownTimeout,--poolOptions,--coverage.reporter\
 n:--run,--no-watch,--watch=false,--no-file-parallelism,--no-isolate,--no-threads,--no-coverage,--coverage=false,--expand\
 n:--fileParallelism=false l:--silent,--passWithNoTests,--hideSkippedTests L:--bail,--retry m:--coverage,--coverage.enabled,--typecheck
mocha: k:-g,--grep,-f,--fgrep V:--config,--spec,-r,--require,--ui,-u,--extension v:-R,--reporter,-t,--timeout,-j,--jobs\
 n:--exit,-C,--parallel,-p,--full-trace,--recursive l:-b,--bail,--dry-run L:--retries
node: k:--test-name-pattern v:--test-reporter,--test-concurrency,--test-timeout n:--no-warnings,--test L:--test-reporter-destination\
 n:--test-reporter-destination=stdout,--test-reporter-destination=stderr,--enable-source-maps m:--experimental-test-coverage\
 K:--test-skip-pattern,--test-shard b:--test-only
playwright: k:-g,--grep p:--project K:--grep-invert,--shard b:--last-failed V:-c,--config\
 v:--reporter,-j,--workers,--timeout,--trace,--output,--repeat-each n:--headed,--quiet,--fully-parallel\
 l:-x,--list,--pass-with-no-tests,--reporter=html,--reporter=blob,--reporter=null L:--max-failures,--retries
cypress: K:-s,--spec B:--component,--e2e V:-C,--config-file,-b,--browser,-c,--config,-e,--env v:--reporter,-r d:-P,--project\
 n:--headless,--headed l:-q,--quiet
tsc: V:-p,--project,-b,--build,--target,--module,--lib,--jsx,--moduleResolution,--types,--baseUrl v:--outDir,--rootDir\
 n:--noEmit,--pretty,--incremental,-i,--extendedDiagnostics,--diagnostics,--emitDeclarationOnly,--noErrorTruncation,--force,-f\
 l:--skipLibCheck,--noCheck,--listFilesOnly,-d m:--strict,--noUnusedLocals,--noUnusedParameters,--noImplicitAny,--listFiles
mypy: K:-p,--package,-m,--module V:--config-file,--python-version,--python-executable,--platform v:--cache-dir,--junit-xml\
 n:--pretty,--no-pretty,--show-error-codes,--no-error-summary,--show-column-numbers,--no-incremental,--no-color-output,-v\
 n:--show-error-context,--hide-error-codes,--install-types,--non-interactive,--explicit-package-bases,--color-output\
 l:--ignore-missing-imports,--no-strict-optional L:--follow-imports,--exclude,--disable-error-code\
 m:--strict,--check-untyped-defs,--disallow-untyped-defs,--warn-unused-ignores,--warn-return-any M:--enable-error-code
pyright: V:-p,--project,--pythonversion,--pythonpath,--pythonplatform v:--threads n:--stats,--outputjson L:--level m:--warnings
eslint: V:--rule,-c,--config,--parser,--plugin,--rulesdir,--resolve-plugins-relative-to,--parser-options v:-f,--format,--cache-location\
 L:-o,--output-file v:--concurrency V:--ext,--max-warnings,--report-unused-disable-directives-severity L:--ignore-path,--ignore-pattern\
 n:--cache,--no-cache,--debug,--stats,--no-error-on-unmatched-pattern,--no-warn-ignored l:--quiet,--no-inline-config,--pass-on-no-patterns\
 m:--report-unused-disable-directives,--no-ignore,--max-warnings=0
prettier: V:--config,--parser,--ignore-path,--plugin,--print-width v:--log-level,--loglevel,--cache-location\
 l:--log-level=silent,--log-level=error,--loglevel=silent,--loglevel=error\
 n:--check,-c,-l,--list-different,-u,--ignore-unknown,--cache,--no-error-on-unmatched-pattern
ruff: V:--config,--target-version,--line-length,--extend-select K:--select\
 L:--ignore,--exclude,--extend-exclude,--extend-ignore,-o,--output-file v:--output-format,--cache-dir,-j\
 n:--no-cache,-n,--no-fix,-v,--show-fixes,-q,--quiet l:-s,--silent,-e,--exit-zero,--statistics m:--check,--no-respect-gitignore B:--diff
flake8: V:--config K:--select L:--ignore,--extend-ignore,--exclude,--extend-exclude,--per-file-ignores v:-j,--jobs,--format\
 V:--max-line-length n:--show-source l:-q,--quiet,--exit-zero,--count m:--statistics
pylint: V:--rcfile K:-e,--enable L:-d,--disable,--ignore,--ignore-paths,--fail-under v:-j,--jobs n:-ry,-rn F:-f,--output-format\
 l:-E,--errors-only,--exit-zero,-sn
rubocop: V:-c,--config K:--only,--except L:-o,--out v:-f,--format n:-P,--parallel,-D,--display-cop-names,--force-exclusion,--no-parallel\
 l:-F,--fail-fast,-l,--lint,-f=offenses,-f=o,-f=worst,-f=files,--format=offenses,--format=worst,--format=files\
 L:--fail-level,--display-only-fail-level-offenses m:-S,--display-style-guide
cargo: p:-p,--package K:--bin,--test,--example,--bench,--skip,--exclude b:--lib,--bins,--tests,--doc,--examples,--benches\
 V:--features,-F,--target,--manifest-path,--profile,--config,-Z,--cargo-profile\
 B:--release,-r,--all-features,--no-default-features,--ignored v:-j,--jobs,--color,--message-format,--target-dir,--test-threads d:-C\
 K:-E,--filterset,--filter-expr n:-v,-vv,--locked,--frozen,--offline,--keep-going,-q,--quiet,--allow-dirty,--allow-staged\
 l:--no-run,--list,--no-deps,--exact,--fail-fast L:--retries,-A\
 m:--check,--nocapture,--no-capture,--show-output,--all-targets,--no-fail-fast,--include-ignored,--workspace,--all M:-D,-W
go: k:-run,--run K:-skip V:-bench,-tags,-fuzz,-mod,-ldflags,-gcflags,-asmflags,-exec,-cpu,-vet,-covermode,-coverpkg B:-race,-msan,-asan\
 d:-C v:-count,-o,-coverprofile,-p,-parallel,-benchtime,-cpuprofile,-memprofile,-fuzztime,-shuffle\
 n:-v,-json,-x,-trimpath,-benchmem,-a,-fullpath l:-count=0,-short,-failfast,-c,-n m:-cover T:-timeout
gotestsum: v:--format,-f,--junitfile,--jsonfile V:--packages L:--rerun-fails l:--no-summary
golangci-lint: V:-E,-D,--enable,--disable,--build-tags,-c,--config,--enable-only,--default v:-j,--concurrency T:--timeout F:--out-format\
 L:-e,--exclude,--max-issues-per-linter,--max-same-issues,--new-from-rev,--issues-exit-code,--exclude-dirs\
 n:-v,--allow-parallel-runners,--print-issued-lines,--sort-results l:-n,--new,--fast
make: V:-f,--file,--makefile,-o,-W v:-j,--jobs,-l,-O,--output-sync d:-C,--directory\
 n:-s,--silent,--quiet,--no-print-directory,-w,--print-directory,-B,--always-make\
 l:-n,--dry-run,--just-print,--recon,-q,--question,-t,--touch,-i,--ignore-errors m:-k,--keep-going
just: V:-f,--justfile d:-d,--working-directory n:-q,--quiet,-v l:-n,--dry-run,-l,--list,--no-deps
ninja: v:-j,-l,-k d:-C n:-v l:-n,--quiet
gradle: k:--tests V:-P,-D,-c,-b,-I,--init-script K:-x,--exclude-task v:--max-workers,--console,-g d:-p,--project-dir\
 n:--no-daemon,--daemon,--stacktrace,-s,--full-stacktrace,-S,--info,-i,--debug,-d,--rerun-tasks,--no-build-cache,--build-cache\
 n:--parallel,--no-parallel,--offline,--scan,--no-configuration-cache,--configuration-cache n:--continue,--rerun,--no-watch-fs,--no-scan\
 v:--warning-mode l:-m,--dry-run,-q,--quiet
mvn: p:-pl,--projects k:-Dtest,-Dit.test,-Dgroups V:-P,-s,--settings L:-l,--log-file v:-T,--threads d:-f,--file\
 n:-q,-B,--batch-mode,-ntp,--no-transfer-progress,-e,--errors,-X,--debug,-o,--offline,-U,-am,--also-make,-fae,--fail-at-end\
 n:-DtrimStackTrace=false,-Dstyle.color=never,-Dstyle.color=always,-V\
 l:-DskipTests,-DskipITs,-fn,--fail-never,-ff,--fail-fast,-Dmaven.test.skip,-Dmaven.test.failure.ignore,-Dcheckstyle.skip
turbo: p:--filter,-F v:--concurrency,--log-order,--cache-dir,--log-prefix,--cache,--ui d:--cwd\
 n:--force,--no-cache,--no-daemon,--continue,--output-logs=full l:--dry-run,--dry,--affected,--only L:--output-logs
nx: p:-p,--projects,--project K:--base,--head,--exclude V:-c,--configuration v:--parallel,--output-style,--runner,--outputStyle\
 n:--skip-nx-cache,--skipNxCache,--nxBail=false,--ci,--all,--no-cloud l:--nxBail,--dry-run,--graph m:--coverage,--codeCoverage
lerna: p:--scope K:--ignore,--since v:--concurrency n:--stream,--no-bail,--parallel,--no-prefix l:--bail
cmake: V:-t,--target,--config v:-j,--parallel d:--build n:-v,--clean-first
ctest: k:-R,--tests-regex K:-L,-E,-I V:-C v:-j,--parallel,--timeout,-O d:--test-dir m:--output-on-failure,-V,-VV,--verbose,--extra-verbose\
 b:--rerun-failed l:-N,--show-only,-Q,--quiet,--stop-on-failure
dotnet: k:--filter K:-f,--framework V:-c,--configuration,-r,--runtime,-s,--settings\
 v:-v,--verbosity,-l,--logger,-o,--output,--results-directory,--collect,--blame-hang-timeout\
 n:--nologo,--no-incremental,--blame,-v:n,-v:m,-v:q,-v:minimal,-v:normal,-v:quiet,--no-restore\
 l:--no-build,-t,--list-tests,-p:TreatWarningsAsErrors=false m:--verify-no-changes,-warnaserror,--warnaserror,/warnaserror
swift: k:--filter K:--skip,--target,--product V:-c,--configuration,-Xswiftc,--sanitize v:-j,--jobs,--scratch-path,--num-workers\
 d:--package-path n:--parallel,--no-parallel,-v,--disable-sandbox,--enable-code-coverage l:--skip-build,-q,--quiet,--list-tests
xcodebuild: p:-scheme K:-only-testing,-skip-testing V:-workspace,-project,-destination,-sdk,-configuration,-testPlan,-target,-arch\
 v:-derivedDataPath,-resultBundlePath,-jobs,-parallel-testing-enabled,-destination-timeout n:-hideShellScriptEnvironment,-verbose\
 l:-quiet,-dry-run,-n
rspec: k:-e,--example K:-t,--tag,-P,--pattern b:--only-failures V:-r,--require,-I L:-o,--out v:-f,--format,--seed,--order,--profile\
 n:-c,--force-color,-b,--backtrace,-w,-p l:--fail-fast,--dry-run,-n L:--failure-exit-code
phpunit: k:--filter K:--group,--exclude-group,--testsuite V:-c,--configuration,-d,--bootstrap\
 v:--coverage-html,--log-junit,--coverage-clover n:--parallel,-p,--testdox,--no-coverage,--debug,--display-warnings\
 n:--display-deprecations,--colors=always,--colors=never,--compact,--display-all-issues\
 l:--stop-on-failure,--stop-on-error,--no-output,--list-tests,--stop-on-defect,--no-results\
 m:--coverage-text,--fail-on-warning,--fail-on-risky,--strict-coverage
mix: K:--only,--exclude,--include,--partitions b:--stale,--failed v:--seed,--timeout,--formatter,--max-cases n:--trace,--force\
 L:--max-failures m:--check-formatted,--warnings-as-errors,--cover,--strict M:--slowest
unittest: k:-k V:-p,--pattern,-s,--start-directory,-t n:-v,-b,--buffer,--locals,-c l:-f,--failfast,-q,--quiet v:--durations
tox: k:-e V:-c,-x v:--workdir,-p r:-q n:-v,-vv,-r,--recreate l:--notest,-l,--listenvs,-a
nox: k:-s,--session,-e K:-k,-t,-p V:-f,--noxfile,--python n:-r,-R,--reuse-existing-virtualenvs,-v l:-l,--list,-x,--install-only
docker: V:-f,--file,--target,--build-arg,--platform,--secret,--network,--ssh\
 v:-t,--tag,--progress,--cache-from,--cache-to,-o,--output,--label,--iidfile,--metadata-file\
 n:--pull,--no-cache,--load,--push,--rm,--force-rm,--with-dependencies l:-q,--quiet,--check,--progress=quiet
deno: k:--filter V:-c,--config,--import-map v:--reporter,--junit-path,--coverage\
 n:-A,--allow-all,--allow-read,--allow-env,--allow-net,--allow-run,--allow-write,--parallel,--reload\
 l:--no-check,--no-run,--fail-fast,-q,--quiet,--permit-no-files m:--check,--doc
django: k:-k K:--tag,--exclude-tag V:--settings v:--parallel,-v,--verbosity\
 n:--keepdb,--noinput,--no-input,--debug-mode,--buffer,-b,--force-color,--timing l:--failfast m:--deploy V:--fail-level
rails: k:-n,--name v:-s,--seed n:-v,-b,-d,-c l:-f,--fail-fast K:-e
bazel: k:--test_filter K:--test_tag_filters V:--config,-c v:-j,--jobs,--local_test_jobs\
 m:--test_output=all,--test_output=errors,--test_output=streamed\
 n:--cache_test_results=no,--curses=no,--curses=yes,--color=no,--color=yes,--noshow_progress,--nocache_test_results,-k n:--keep_going\
 L:--test_output,--runs_per_test l:--nobuild,--nocheck_visibility,--build_tests_only
pre-commit: V:-c,--config K:--hook-stage,--from-ref,--to-ref,--files n:-v,--show-diff-on-failure m:-a,--all-files
commitlint: V:-f,--from,-t,--to,-e,--edit v:-g,--config
phpstan: V:-c,--configuration,-a,--autoload-file v:--memory-limit,--error-format N:--level,-l\
 n:--ansi,--no-ansi,-v,-vv,-vvv,--no-interaction,-n,--debug l:-q,--quiet,-b,--generate-baseline,--allow-empty-baseline
phpcs: V:--standard L:--ignore,--error-severity,--warning-severity,--severity v:--report,--parallel n:-p,-s,-v\
 l:-n,-q,--report=summary,--report=source
swiftlint: V:--config v:--reporter l:--quiet,--lenient m:--strict n:--no-cache
composer: n:--no-ansi,--ansi,-v,-n,--no-interaction l:--no-check-all,--no-check-publish,--no-check-lock,-q m:--strict,--with-dependencies
prove: V:-I,--exec n:-v,-l,--lib,-b,--blib,--timer,--nocolor,-c,-f,--failures,-m,--merge v:-j,--jobs,--formatter m:-r,--recurse l:-q,-Q
vale: V:--config v:--output L:--minAlertLevel,--glob
vite: V:--mode,-m,-c,--config v:--outDir,-l,--logLevel,--base n:--emptyOutDir,--sourcemap,--manifest
black: V:--config,-l,--line-length,-t,--target-version L:--exclude,--extend-exclude,--force-exclude v:-W,--workers n:--check,-v m:--diff\
 l:-q,--quiet
isort: V:--settings-path,--profile,-l L:--skip,--skip-glob n:--check,--check-only,-c,-v m:--diff,-d l:-q,--quiet
gofmt: n:-l,-s,-e m:-d
shellcheck: V:-s,--shell K:-i,--include L:-e,--exclude,-S,--severity v:-f,--format n:-x,--external-sources,-a l:-f=quiet,--format=quiet
next: n:--turbo,--turbopack,--webpack,--debug,--profile l:--no-lint,--quiet d:-d,--dir v:--max-warnings
script: k:-t,--testNamePattern,-g,--grep,-k K:--testPathPattern,--testPathPatterns,--shard,--spec,-m,--ignore,--changed,--exclude\
 V:-c,--config,--mode p:-w,--workspace,--filter,--project,--scope,-F a:-r,--recursive,--workspaces,-ws d:--prefix,--cwd,--dir,-C\
 v:--reporter,--reporters,--maxWorkers,--testTimeout,--timeout,--coverageReporters,--format,--workers,--tb\
 L:--output,--outputFile,--output-file,-o v:--loglevel,--log-level,--concurrency,--workspace-concurrency,--durations,-R\
 n:--silent,-s,-v,--ci,--run,-i,--runInBand,--no-cache,--forceExit,--detectOpenHandles,--watch=false,--watchAll=false,--no-watch\
 n:--no-coverage,--coverage=false,--stream,--pretty,--noEmit,--no-update-notifier,--no-fund,--no-audit,--no-open\
 n:--no-file-parallelism,--cache,--aggregate-output,--no-threads,--exit,--force,--runTestsByPath\
 l:--bail,-x,--passWithNoTests,--if-present,--tb=no,--quiet,--dry-run,--list L:--maxfail,--retries\
 m:--coverage,--strict,--report-unused-disable-directives,--cov,--typecheck,--max-warnings=0 V:--max-warnings,--browser
""")
# What looks at the state of something: by the words that name the look. What of a line is no option and no limit belongs to its name.
LOOKS = Table("""
git status: l:-s,--short,--porcelain,--porcelain=v1,-uno n:-b,--branch,--ahead-behind m:-uall,--ignored,-v
git diff: l:--name-only n:--no-ext-diff,--no-pager,-p,--patch
git log: X:-n,--max-count l:--oneline n:--no-decorate,--no-ext-diff,--no-pager,--decorate m:--stat,-p,--patch B:--graph,--all
git branch: m:-a,--all,-v,-vv,--verbose n:--list
git remote: m:-v,--verbose
git tag: n:-l,--list m:-n
git stash list: m:--stat,-p
docker ps: m:-a,--all,--no-trunc,-s,--size l:-q,--quiet V:--format,-n,--last K:-f,--filter
docker images: m:-a,--all,--no-trunc,--digests l:-q,--quiet V:--format K:-f,--filter
docker logs: X:--tail,-n m:-t,--timestamps,--details L:--since,--until
docker compose ps: m:-a,--all l:-q,--quiet,--services V:--format
docker compose logs: X:--tail,-n m:-t,--timestamps L:--since,--until n:--no-log-prefix
kubectl get: m:-o=wide,--output=wide,--show-labels V:-n,--namespace,--context,-o,--output,--kubeconfig K:-l,--selector,--field-selector\
 l:--no-headers v:--sort-by,--request-timeout
kubectl logs: X:--tail m:--timestamps L:--since,--since-time V:-c,--container,-n,--namespace,--context,-l
kubectl describe: V:-n,--namespace,--context,-l
npm ls: m:--all,-a,--long X:--depth l:--omit=dev,--prod
npm audit: L:--omit,--audit-level l:--production n:--no-fund
npm outdated: m:--long,--all
pip list: B:--outdated,-o m:-v n:--disable-pip-version-check V:--format
terraform plan: L:-target l:-refresh=false B:-refresh-only n:-no-color,-input=false,-lock=false,-compact-warnings V:-var-file,-var\
 v:-parallelism,-lock-timeout n:-detailed-exitcode
coverage report: m:-m,--show-missing l:--skip-covered,--skip-empty L:--include,--omit V:--rcfile,--data-file v:--precision,--sort
gh pr checks: V:-R,--repo,--json
gh pr view: B:--comments,-c V:-R,--repo,--json,-q,--jq
gh run view: V:-R,--repo,--json,-q,--jq,-j,--job B:--log-failed,--log m:-v,--verbose
gh run list: X:-L,--limit V:-R,--repo,--json,-q,--jq K:-b,--branch,-w,--workflow,-s,--status
gh issue view: B:--comments,-c V:-R,--repo,--json,-q,--jq
systemctl status: n:--no-pager m:-l,--full X:-n,--lines
""")
# Of looks with an `X`, the number where none is given; else it is every one.
WITHOUT_NUMBER = {"npm ls": "0", "gh run list": "20", "systemctl status": "10"}
# Of programs with looks, the options with a value that may stand before the command.
BEFORE_COMMAND = Table("""
kubectl: -n --namespace --context --kubeconfig --cluster -s --server --user --request-timeout
docker: -c --context -H --host -f --file -p --project-name --profile --env-file
gh: -R --repo
npm: --prefix -w --workspace
systemctl: -H --host -M --machine
""")
# What follows a script's name goes to a tool that is not known, hence `script`: the options of the usual ones.
_SAME = Table("""
bun: jest
basedpyright: pyright
vue-tsc: tsc
task: just
artisan pest paratest: phpunit
biome oxlint stylelint standard xo: eslint
ava: mocha
flutter dart: mix
pnpm npm yarn: script
nuxt astro: next
bandit: flake8
""")


def letters_of(tool: str) -> dict[str, str]:
    """Return the options of a tool, or of a look, with their letters. Made when there are options: a hook reads one command line."""
    letters: dict[str, str] = {}
    for text in (_ANY, LOOKS[tool] if " " in tool else _OPTIONS[_SAME.get(tool, tool)]):
        for group in text.split():
            letters.update(dict.fromkeys(group[2:].split(","), group[0]))
    return letters
