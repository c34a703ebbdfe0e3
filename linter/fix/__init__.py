"""Repairing files: rewrites are chosen, applied to text, proved, and written."""
