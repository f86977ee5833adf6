"""EmoDB: QueueService under `/queue/1`, DedupQueueService under `/dedupq/1`. Begin with `dialect.py`."""
