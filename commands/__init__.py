"""Library: what every `manage.py` command of ours has in common. It knows no animal, no key and no request."""
