"""The `popkit` command: its subcommands and what they share.

`main` picks the function of a command from COMMANDS and `answering` runs it: words are parsed by the command's table
(`operations/tables.py`), the function returns an Answer (lines, the same as data, an exit code), which is written on the terminal. Several
commands share `settings_file`, which changes settings files once the user agrees."""
