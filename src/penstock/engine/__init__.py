"""ONE BATCH AT A TIME. Gathers commands, decides, applies, commits, answers; wakes waiters; ticks."""
