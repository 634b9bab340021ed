"""The shared base of our `manage.py` commands. It does not depend on animals, keys or requests."""
