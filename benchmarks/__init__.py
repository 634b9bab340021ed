"""Measurements of the service; each prints a table and keeps it in results/."""
