"""Signals about failures that operators count. Who sends them knows no metrics."""

from django.dispatch import Signal

limiter_failed = Signal()
"""The cache did not respond, and rate limits are not applied."""
