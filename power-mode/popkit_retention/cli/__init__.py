"""The `popkit` command: what its subcommands share.

`main` finds a command, ours (`commands`, `tables`) or a feature's (its `feature.py`, `operations.py`), and `answering` runs it: words are
parsed by the command's table, whose row names the function; that returns an Answer (lines, the same as data, an exit code), which is
written on the terminal. Several commands share `settings_file`, which changes settings files once the user agrees."""
