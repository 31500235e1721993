"""How each architecture is built: one file of small registered functions per family."""
