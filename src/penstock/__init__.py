"""Penstock: one durable message queue that speaks the HTTP dialects people already have."""

__version__ = "0.1.0"
