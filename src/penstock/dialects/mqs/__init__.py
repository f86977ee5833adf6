"""mqs: queues under `/queues`, messages under `/messages`. `dialect.py` is where to begin."""
