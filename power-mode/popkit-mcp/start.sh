#!/bin/sh
# Starts `popkit mcp` of the plugin popkit, wherever that is: this plugin is copied into a folder of its own, without PopKit's code.
here=$(CDPATH= cd -P "${0%/*}" && pwd) || exit 1
version=${here##*/}
plugins=${here%/*/*} # where Claude Code keeps the plugins of our marketplace, each version in a folder

# Claude Code marks copies that it no longer uses.
start() {
  if [ ! -e "$1/.orphaned_at" ] && [ -x "$1/bin/popkit" ] && [ -r "$1/power-mode/popkit_retention/mcp/server.py" ]; then exec "$1/bin/popkit" mcp; fi
}

start "${here%/*/*}" # in PopKit's own repository
start "$plugins/popkit/$version"
for found in $(ls -t "$plugins/popkit" 2>/dev/null); do start "$plugins/popkit/$found"; done
start "${plugins%/*/*}/marketplaces/${plugins##*/}" # the marketplace itself, where it came by git
command -v popkit >/dev/null && exec popkit mcp
echo "popkit-mcp: the plugin popkit is not installed. Run: claude plugin install popkit@popkit" >&2
exit 1
