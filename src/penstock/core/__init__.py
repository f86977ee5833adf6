"""WHAT IS TRUE. Pure: no clock, disk, socket, thread, chance or logging in here."""
