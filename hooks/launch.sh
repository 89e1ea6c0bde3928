# Sourced with POPKIT_HOOK, the name of an entry script: by hooks/popkit, and after each call by the host's own shell, since one more costs
# a fifteenth of a bare interpreter; by bin/popkit for the functions alone.
# Starts a hook with the real interpreter: a pyenv or asdf shim costs 100 ms a call, so what is behind it is found once and remembered.
# Fails open: without an interpreter, or without the script (the plugin was removed while a session runs), the hook does nothing. Python
# exits with 2 for a script that is not there, and the host would take that for "blocked".
[ -n "$POPKIT_HOOK" ] && { [ -n "$POPKIT_OFF" ] || [ ! -r "$CLAUDE_PLUGIN_ROOT/hooks/$POPKIT_HOOK.py" ]; } && exit 0

# Sets popkit_python to what was remembered; false where that is nothing, or nothing to start hooks with: a virtual environment goes with
# its project, and everybody who works on the project can put something in its place. So it is with a folder in the project.
popkit_remembered() {
  popkit_home=$POPKIT_HOME popkit_python=
  case $popkit_home in
    /*) ;;
    "~" | "~/"*) popkit_home=${HOME:+$HOME${popkit_home#"~"}} ;;
    ?*) popkit_home= ;; # relative: refused, see io/home.py
    *) popkit_home=${CLAUDE_CONFIG_DIR:-${HOME:+$HOME/.claude}} popkit_home=${popkit_home:+$popkit_home/popkit} ;;
  esac
  case $popkit_home in /*) popkit_foreign "$popkit_home" && popkit_home= ;; *) popkit_home= ;; esac
  [ -e "$popkit_home" ] && [ ! -O "$popkit_home" ] && popkit_home=
  [ -n "$popkit_home" ] && [ -f "$popkit_home/interpreter" ] && { IFS= read -r popkit_python < "$popkit_home/interpreter"; } 2>/dev/null
  popkit_usable "$popkit_python"
}

# Whether a repository could have chosen a folder in the user's place, as io/foreign.py tells: it lies below /proc and the like, from where
# a path leads into any project, or in the project at hand.
popkit_foreign() {
  case $1/ in /proc/* | /dev/fd/* | /sys/*) return 0 ;; esac
  popkit_back=$PWD popkit_path=$1
  until [ -d "$popkit_path/" ]; do popkit_path=${popkit_path%/*}; done
  CDPATH= cd -P "$popkit_path/" 2>/dev/null || return 0
  popkit_real=$PWD popkit_found=1
  case $popkit_real/ in /proc/* | /dev/fd/* | /sys/*) popkit_found=0 ;; esac
  for popkit_place in "$CLAUDE_PROJECT_DIR" "$popkit_back"; do
    [ -n "$popkit_place" ] && CDPATH= cd -P "$popkit_place" 2>/dev/null || continue
    popkit_top=$PWD
    [ "$popkit_place" = "$CLAUDE_PROJECT_DIR" ] && popkit_below "$popkit_top" "$1" && popkit_found=0
    while [ -n "${popkit_top#/}" ]; do
      popkit_is_project "$popkit_top" && popkit_below "$popkit_top" "$1" && popkit_found=0
      popkit_top=${popkit_top%/*}
    done
  done
  cd "$popkit_back" 2>/dev/null
  return $popkit_found
}

# The settings in the home folder are the user's own.
popkit_is_project() {
  [ -e "$1/.git" ] && return 0
  [ "$1" != "$HOME" ] && { [ -e "$1/.claude/settings.json" ] || [ -e "$1/.claude/settings.local.json" ]; }
}

# Whether popkit_real lies in a project, unless that has the user's whole home folder in it, or the folder is ours where nothing says
# another. The home folder is the one that the system knows: the environment may be the project's.
popkit_below() {
  case $popkit_real/ in "${1%/}"/*) ;; *) return 1 ;; esac
  popkit_user=$(command -p id -un 2>/dev/null)
  case $popkit_user in "" | *[!A-Za-z0-9._-]*) return 0 ;; esac
  eval "popkit_user=~$popkit_user"
  [ "$2" = "$popkit_user/.claude/popkit" ] && return 1
  CDPATH= cd -P "$popkit_user" 2>/dev/null || return 0
  case $PWD/ in "${1%/}"/*) return 1 ;; esac
}

popkit_usable() {
  case $1 in /*) [ -f "$1" ] && [ -x "$1" ] && [ ! -e "${1%/*}/../pyvenv.cfg" ] ;; *) false ;; esac
}

# UTF-8 whatever the locale says: the host writes paths so. No `exec`: an interpreter whose libraries are gone fails after its start.
popkit_start() {
  case $POPKIT_HOOK in
    # hooks/popkit has read the payload.
    pre-tool-use) printf '%s\n' "$popkit_payload" | popkit_run ;;
    *) popkit_run ;;
  esac
}

popkit_run() {
  "$popkit_python" -X utf8 -S -E "$CLAUDE_PLUGIN_ROOT/hooks/$POPKIT_HOOK.py"
}

popkit_failed=
[ -n "$POPKIT_HOOK" ] && popkit_remembered && { popkit_failed=$popkit_python; popkit_start && exit 0; }

# --- What follows is for the first hook on a machine, for one whose interpreter has gone, and for bin/popkit. ---

# Sets popkit_base to the folder of interpreters that a folder stands for: itself, or where its virtual environment was made from.
popkit_base_of() {
  popkit_base=$1
  [ -r "$1/../pyvenv.cfg" ] || return 0
  while IFS= read -r popkit_line || [ -n "$popkit_line" ]; do
    case $popkit_line in "home = "*) popkit_base=${popkit_line#"home = "} ;; esac
  done < "$1/../pyvenv.cfg"
}

# Sets popkit_python to the first interpreter on PATH that starts, is new enough and belongs to no project; false where there is none.
# Nothing of the project is started for it.
popkit_look() {
  popkit_rest=$PATH:
  while [ -n "$popkit_rest" ]; do
    popkit_base_of "${popkit_rest%%:*}"
    popkit_rest=${popkit_rest#*:} popkit_folder=$popkit_base
    case $popkit_folder in /*) popkit_foreign "$popkit_folder" && continue ;; *) continue ;; esac
    for popkit_name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9 python; do
      [ -x "$popkit_folder/$popkit_name" ] || continue
      popkit_python=$("$popkit_folder/$popkit_name" -S -E -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")' 2>/dev/null)
      # A shim may lead to a virtual environment.
      popkit_base_of "${popkit_python%/*}"
      popkit_usable "$popkit_python" || popkit_python=$popkit_base/${popkit_python##*/}
      popkit_usable "$popkit_python" && ! popkit_foreign "${popkit_python%/*}" && return 0
    done
  done
  return 1
}

[ -n "$POPKIT_HOOK" ] || return 0

popkit_look && [ "$popkit_python" != "$popkit_failed" ] || exit 0
# With the system's programs: the project's may stand before them on PATH.
[ -n "$popkit_home" ] && (umask 077 && command -p mkdir -p "$popkit_home" && printf '%s\n' "$popkit_python" > "$popkit_home/interpreter.$$" &&
  command -p mv -f "$popkit_home/interpreter.$$" "$popkit_home/interpreter") 2>/dev/null
popkit_start
exit 0
