"""HOW IT IS SAID. Pure, one file each: requests become commands, outcomes become responses."""
