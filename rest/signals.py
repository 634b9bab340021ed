"""Signals about failures that operators count. Who sends them knows no metrics."""

from django.dispatch import Signal

limiter_failed = Signal()
"""The cache did not respond, and rate limits are not applied."""

replica_left_out = Signal()
"""Reports are read from the primary, because the replica failed or is behind."""

commit_in_doubt = Signal()
"""A standby did not confirm a COMMIT, so its outcome is not known."""
