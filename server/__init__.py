"""gunicorn as we run it: its worker, its connections, slots for workers, and reloading. It knows no application.

What it needs of one, gunicorn's configuration gives it (`deploy/gunicorn.conf.py`).
"""
