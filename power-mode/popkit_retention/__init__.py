"""What stands on the library of the hooks: the shell's commands, the lab and the services. Imports `hooks.utils`, never the other way."""
