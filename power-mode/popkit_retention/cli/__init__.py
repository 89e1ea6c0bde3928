"""The `popkit` command: one module per subcommand."""
