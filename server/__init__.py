"""gunicorn and uvicorn as we run them: a worker, and the guard of each connection. It knows no application.

What it needs of one, gunicorn's configuration gives it (`deploy/gunicorn.conf.py`).
"""
