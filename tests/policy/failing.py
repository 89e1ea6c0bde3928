"""Made-up long outputs with a failure in the middle: name -> (the output, the lines that tell of it); and the commands that print such."""

from __future__ import annotations

_ROUND = [f"step {at}: copied part {at} of the shop to its place" for at in range(100)]


def _amid(*failure: str, before: str = "") -> tuple[str, str]:
    """The lines of a failure in the middle of what went well, all behind what a runner of tasks puts before them."""
    shown = [before + line for line in failure]
    half = len(_ROUND) // 2
    return "\n".join([*(before + line for line in _ROUND[:half]), *shown, *(before + line for line in _ROUND[half:])]), "\n".join(shown)


FAILING: dict[str, tuple[str, str]] = {
    "gcc": _amid("src/shop.c:41:9: error: 'price' undeclared (first use in this function)", "make[2]: *** [Makefile:12: shop.o] Error 1"),
    "clang": _amid("src/shop.cc:7:3: fatal error: 'shop.h' file not found"),
    "linker": _amid(
        "shop.o: in function `main': shop.c:(.text+0x1b): undefined reference to `price'", "collect2: error: ld returned 1 exit status"
    ),
    "rustc": _amid("error[E0308]: mismatched types", "  --> src/shop.rs:12:18", "   |                  ^^^ expected `u32`, found `&str`"),
    "go build": _amid("./shop.go:17:5: declared and not used: price"),
    "go vet": _amid("./shop.go:9:2: Printf format %d has arg name of wrong type string"),
    "tsc": _amid("src/shop.ts(3,5): error TS2304: Cannot find name 'price'."),
    "tsc, pretty": _amid("src/shop.ts:3:5 - error TS2304: Cannot find name 'price'."),
    "eslint": _amid("  12:3  error  'price' is never used  no-unused-vars", "\u2716 1 problem (1 error, 0 warnings)"),
    "eslint, warnings": _amid("  12:3  warning  'price' is never used  no-unused-vars"),
    "javac": _amid("src/Shop.java:14: error: cannot find symbol"),
    "maven": _amid("[ERROR] /p/src/Shop.java:[14,9] cannot find symbol", "[ERROR] Tests run: 8, Failures: 1, Errors: 0, Skipped: 0"),
    "surefire": _amid("Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! - in ShopTest"),
    "gradle": _amid("> Task :shop:compileJava FAILED", "FAILURE: Build failed with an exception."),
    "kotlin": _amid("e: file:///p/src/Shop.kt:3:9 Unresolved reference: price"),
    "msbuild": _amid("Shop.cs(14,9): error CS0103: The name 'price' does not exist in the current context [/p/Shop.csproj]"),
    "mypy": _amid('src/shop.py:14: error: Incompatible return value type (got "str", expected "int")  [return-value]'),
    "ruff": _amid("src/shop.py:14:5: F841 Local variable `price` is assigned to but never used"),
    "flake8": _amid("src/shop.py:3:1: W291 trailing whitespace"),
    "any place": _amid("src/shop.tf:3:1: this name stands for nothing"),
    "pytest": _amid(
        "E       assert 33 == 30", "FAILED tests/test_shop.py::test_price - assert 33 == 30", "= 1 failed, 100 passed in 0.71s ="
    ),
    "unittest": _amid("FAIL: test_price (tests.test_shop.Prices)", "FAILED (failures=1)"),
    "jest": _amid("FAIL src/shop.test.ts", "  \u25cf prices \u203a adds", "Tests:       1 failed, 40 passed, 41 total"),
    "vitest": _amid(" FAIL  src/shop.test.ts > prices > adds", "AssertionError: 33 is not 30", "   \u00d7 adds 4ms"),
    "mocha": _amid("  1 failing", "  1) prices adds:"),
    "go test": _amid("--- FAIL: TestPrice (0.00s)", "    shop_test.go:41: price is 33", "FAIL\tshop\t0.012s"),
    "cargo test": _amid(
        "test prices::adds ... FAILED", "thread 'prices::adds' panicked at src/shop.rs:9:5:", "test result: FAILED. 40 passed; 1 failed"
    ),
    "bats": _amid("not ok 17 the price is added"),
    "playwright": _amid("  1) [chromium] \u203a shop.spec.ts:9:5 \u203a the price is added", "  1 failed"),
    "rspec": _amid("rspec ./spec/shop_spec.rb:9 # Shop adds", "41 examples, 1 failure"),
    "phpunit": _amid("1) ShopTest::testPrice", "FAILURES!"),
    "traceback": _amid("Traceback (most recent call last):", '  File "/p/shop.py", line 3, in price', "KeyError: 'price'"),
    "an error of one's own": _amid("shop.PriceError: nobody knows it"),
    "panic": _amid("panic: runtime error: index out of range [3] with length 3", "goroutine 1 [running]:"),
    "java exception": _amid('Exception in thread "main" java.lang.NullPointerException', "Caused by: java.io.IOException: gone"),
    "npm": _amid("npm ERR! code ELIFECYCLE", "npm ERR! shop@1.0.0 build: `tsc`"),
    "npm, newer": _amid("npm error Lifecycle script `build` of shop ended"),
    "pnpm": _amid("\u2009ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL\u2009 shop@1.0.0 build: `tsc`"),
    "make": _amid("make: *** [Makefile:3: all] Error 2"),
    "ninja": _amid("FAILED: shop.o", "ninja: build stopped: subcommand failed."),
    "just": _amid("error: Recipe `ci` failed on line 9 with exit code 1"),
    "mise": _amid("[test] ERROR task failed", "[mise] exited (3)", before=""),
    "tox": _amid("py311: exit 1 (0.10 seconds) /p> pytest", "  py311: FAIL code 1 (0.20=setup[0.10]+cmd[0.10] seconds)"),
    "nox": _amid("nox > Command pytest failed with exit code 1", "nox > Session tests-3.11 failed."),
    "bazel": _amid("//shop:price_test                                 FAILED in 0.3s", "ERROR: Build did NOT complete successfully"),
    "turbo": _amid("src/shop.ts(3,5): error TS2304: Cannot find name 'price'.", "ERROR: command finished with error", before="web:build: "),
    "nx": _amid("\u2716  nx run shop:build", " ERROR  Running target build for shop failed"),
    "docker build": _amid("#12 3.451 src/shop.c:41:9: error: 'price' undeclared", "#12 ERROR: process did not complete: exit code: 1"),
    "a workflow's log": _amid("##[error]Process completed with exit code 1.", before="2026-03-01T10:00:00.1234567Z "),
    "a shell": _amid("sh: 1: prices: command not found", "cp: cannot stat 'prices': No such file or directory"),
    "a signal": _amid("Segmentation fault (core dumped)", "Killed"),
    "compose": _amid("shop-1  | Error: the price is gone", "shop-1 exited with code 137"),
    "git": _amid("CONFLICT (content): Merge conflict in src/shop.py", "fatal: Exiting because of an unresolved conflict."),
}  # fmt: skip
COMMANDS = (
    "just ci | tail -80", "just ci", "mise run test", "mise r test | tail -200", "bazel test //...", "turbo run build",
    "npx turbo run build --filter=web",
    "make", "make -j8 all 2>&1 | tail -300", "nox -s tests", "tox -e py311 2>&1 | tee out.log", "uv run poe check",
    "uv run python scripts/ci.py",
    "./scripts/ci.sh", "bash ci.sh | tail -n 400", "task build", "pants test ::", "earthly +test", "dagger call test",
    "docker compose up --abort-on-container-exit",
    "gh run view 17 --log-failed", "kubectl logs job/ci | tail -400", "python -m build", "pnpm -r build",
    "yarn workspaces foreach run build", "nx affected -t test",
    "hatch run all:ci", "rake", "buck2 test //...", "for p in a b c; do (cd $p && npm test); done",
    "(make && make test) 2>&1 | head -500", "npm run ci --silent",
)  # fmt: skip
