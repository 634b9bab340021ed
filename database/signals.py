"""Signals about failures that operators count. Who sends them knows no metrics."""

from django.dispatch import Signal

connection_failed = Signal()
"""The database accepted no connection."""

data_rejected = Signal()
"""The database rejected data that our own checks had accepted: a bug."""

standby_read = Signal()
"""A statement was read from a standby, because the primary is lost."""

commit_in_doubt = Signal()
"""A standby did not confirm a COMMIT, so its outcome is not known."""
