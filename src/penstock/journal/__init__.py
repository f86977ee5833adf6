"""WHAT HAPPENED, IN ORDER. The event format and its reader."""
