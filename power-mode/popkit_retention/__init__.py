"""What stands on the library of the hooks: the shell's commands, the lab and the services. Imports `popkit_retention.core`, never the other way."""
