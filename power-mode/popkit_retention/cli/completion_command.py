"""`popkit completion`: the words that a shell completes, for which a script of ours asks."""

from __future__ import annotations

from . import commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.operation_tables import Table

# Each script passes the words up to the cursor. Where no word comes back, the shell completes file names.
SCRIPTS = {
    "bash": """_popkit() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(popkit completion --words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _popkit popkit
""",
    "zsh": """_popkit() {
  local -a found
  found=("${(@f)$(popkit completion --words "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
  compadd -a found 2>/dev/null || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _popkit popkit
""",
    "fish": """function __popkit_words
  set -l words (commandline -opc)
  set -l found (popkit completion --words $words[2..] 2>/dev/null)
  if string match -q -- (commandline -ct)'*' $found
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c popkit -f -a '(__popkit_words)'
""",
}


def run(args: Words, _environ: Mapping[str, str]) -> int:
    """Print a script."""
    print(SCRIPTS[args.argument])
    return 0


def complete(args: Words, _environ: Mapping[str, str]) -> int:
    """Print the words that may come after others."""
    print("\n".join(words_after(args.arguments)))
    return 0


def words_after(words: list[str]) -> list[str]:
    """Return the words that may come after `popkit WORDS`; none where any word or file name may come."""
    from popkit_retention.core import flag_parser

    if not words or words == ["help"]:
        return [*commands.names(), "help"]
    name, *before = words[1:] if words[0] == "help" else words
    if name in commands.words_of_context():
        name, before = "context", [name, *before]
    command = commands.called(name)
    if command is None:
        return []
    table = command.operations()
    try:
        operation, called, rest = flag_parser.chosen(before, table)
    except flag_parser.UsageError:
        return [] if before else _names_after("", table)
    if operation.raw:
        return words_after([called, *rest])
    flags = table.flags_of(operation)
    asking = flags.get(before[-1]) if before else None
    if asking is not None and asking.type:
        return [word.lower() for word in asking.type.known]
    words_next = [name for name, flag in flags.items() if flag.many or name not in before]
    if all(word.startswith("-") for word in rest):
        words_next = [*_names_after(called, table), *(word.lower() for word in operation.type.known), *words_next]
    return words_next


def _names_after(called: str, table: Table) -> list[str]:
    """Return the words that may follow in the name of an operation."""
    rests = [name[len(called) :].split() for name in table.by_name if name.startswith(called + " " if called else "")]
    return list(dict.fromkeys(rest[0] for rest in rests if rest))
