"""Java runtimes and their collectors: what exists, what this machine has, and the flags to start it."""
