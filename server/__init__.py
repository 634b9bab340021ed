"""gunicorn and uvicorn as we run them: a worker, the guard of each connection, and reloads. It knows no application.

What it needs of one, gunicorn's configuration gives it (`deploy/gunicorn.conf.py`).
"""
