"""Look-ups that several commands, tools and pages share, and `tables`: all operations with their arguments, from which parser, help,
completion, documents and schemas are made."""
