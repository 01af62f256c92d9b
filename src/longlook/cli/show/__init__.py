"""Results on a terminal, in a pipe, and as JSON: one module for each command, called by `cli.COMMAND` alone."""
