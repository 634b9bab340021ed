"""Measurements of the service. Each prints a table and writes it to results/."""
