"""gunicorn as we run it: its worker, its connections, and reloads. It knows no application.

What it needs of one, gunicorn's configuration gives it (`deploy/gunicorn.conf.py`).
"""
