"""Tests that drive the real client against a scripted Messages API; test_harness.py shows what can be relied on.

A test asks for `home`, `api` and `probe` and runs once for each end of the supported range:

    api.scripts["fix"] = [call(("Bash", {"command": "npm test"})), say("it fails")]
    run = home.run_headless("look [[SCRIPT:fix]]", plugin_dir=probe.plugin_dir)
    assert run.results[-1]["result"] == "it fails"
    assert api.turns()[-1].tool_results() and probe.payloads("PostToolUseFailure")

`ClientTerminal(home, plugin_dir=…)` is the same client on a screen: wait_ready, send, wait, screen, rewind.
"""
