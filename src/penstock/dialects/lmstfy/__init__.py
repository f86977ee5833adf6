"""lmstfy: jobs under `/api`, tokens on a listener of their own. `dialect.py` is where to begin."""
