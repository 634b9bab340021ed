"""What every request passes: the door in front of Django (docs/decisions/0053), the access record, health."""
