"""Local entropy: how many solutions lie at a distance from a given one."""
