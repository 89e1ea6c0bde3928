"""Run a Python program as an interpreter would, and note what it does outside our own folder. The arguments: the interpreter to seem to be,
then those of Python. Standard library only, and little of it: each hook starts with this."""

import os
import sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.mkdir": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
}


def watch(notes, program):
    """Note to a file what this process does from now on."""
    client = os.path.realpath(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.environ.get("HOME", "/"), ".claude"))
    plugin = os.path.dirname(os.path.dirname(os.path.abspath(program)))  # the client may have made it of links
    kept = os.environ.get("POPKIT_HOME") or os.path.join(client, "popkit")
    ours = [plugin, *map(os.path.realpath, (plugin, kept, os.path.dirname(os.path.dirname(os.path.realpath(program)))))]
    log = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def is_clients(path):
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return False  # a file that is open already
        path = os.path.normpath(os.path.join(os.getcwd(), path))
        return is_below(path, client) and not any(is_below(path, each) for each in ours)

    def note(event, args):
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & WRITES and is_clients(path):
                say(event, path)
        elif event in CHANGES:
            for at in CHANGES[event]:
                if is_clients(args[at]):
                    say(event, args[at])
        elif event == "sqlite3.connect":
            if is_clients(args[0]):
                say(event, args[0])
        elif event == "socket.connect" and not isinstance(args[1], (str, bytes)):
            say(event, args[1])

    def say(event, what):
        os.write(log, f"{event} {what} in {' '.join(sys.argv)}\n".encode("utf-8", "replace"))

    sys.addaudithook(note)


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def main():
    seems, *words = sys.argv[1:]
    notes = os.environ.pop("POPKIT_WATCH")
    real, sys.executable = sys.executable, seems
    given = words
    while words and words[0].startswith("-") and words[0] not in ("-c", "-m"):
        words = words[2:] if words[0] == "-X" else words[1:]
    if not words:
        os.execv(real, [real, *given])  # its version, or a program on stdin
    if words[0] == "-c":
        sys.argv = words[:1] + words[2:]
        run(words[1], "<string>")
    elif words[0] == "-m":
        import runpy  # seldom: it loads much

        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        watch(notes, words[0])
        with open(words[0], "rb") as file:
            run(file.read(), words[0])


def run(source, path):
    """Run a program as the interpreter's own."""
    names = sys.modules["__main__"].__dict__
    names.update(__file__=path, __name__="__main__")
    exec(compile(source, path, "exec"), names)
