# Sourced by hooks.json as: POPKIT_HOOK=<entry script>; . "$CLAUDE_PLUGIN_ROOT/hooks/launch.sh"
# Starts a hook with the real interpreter: a pyenv or asdf shim costs 100 ms a call, so what is behind it is found once and remembered.
# Fails open: without an interpreter, or without the script (the plugin was removed while a session runs), the hook does nothing. Python
# exits with 2 for a script that is not there, and the host would take that for "blocked".
[ -n "$POPKIT_OFF" ] && exit 0
[ -r "$CLAUDE_PLUGIN_ROOT/hooks/$POPKIT_HOOK.py" ] || exit 0
popkit_home=$POPKIT_HOME
[ -z "$popkit_home" ] && [ -n "$CLAUDE_CONFIG_DIR" ] && popkit_home=$CLAUDE_CONFIG_DIR/popkit
[ -z "$popkit_home" ] && [ -n "$HOME" ] && popkit_home=$HOME/.claude/popkit
popkit_python=
[ -n "$popkit_home" ] && [ -f "$popkit_home/interpreter" ] && { IFS= read -r popkit_python < "$popkit_home/interpreter"; } 2>/dev/null
if [ ! -f "$popkit_python" ] || [ ! -x "$popkit_python" ]; then
  popkit_python=$(python3 -S -E -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")' 2>/dev/null)
  [ -x "$popkit_python" ] || exit 0
  [ -n "$popkit_home" ] && (umask 077 && mkdir -p "$popkit_home" && printf '%s\n' "$popkit_python" > "$popkit_home/interpreter.$$" &&
    mv -f "$popkit_home/interpreter.$$" "$popkit_home/interpreter") 2>/dev/null
fi
exec "$popkit_python" -S -E "$CLAUDE_PLUGIN_ROOT/hooks/$POPKIT_HOOK.py"
