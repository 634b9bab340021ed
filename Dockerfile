# The service in a container. docs/install.md explains each step, and how to do it by hand.
#   docker build --tag petstore .

FROM python:3.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /opt/petstore
RUN python -m venv .venv
COPY requirements/base.txt requirements/base.txt
RUN .venv/bin/pip install --require-hashes --no-deps --only-binary :all: --requirement requirements/base.txt \
    && .venv/bin/pip uninstall --yes pip
COPY manage.py pyproject.toml CHANGELOG.md LICENSE README.md SECURITY.md ./
COPY categories categories
COPY changes changes
COPY history history
COPY clients clients
COPY commands commands
COPY deploy deploy
COPY docs docs
COPY database database
COPY files files
COPY idempotency idempotency
COPY pets pets
COPY petstore_site petstore_site
COPY rest rest
COPY server server
COPY templates templates
# None of these values serves a request: static files are the same everywhere.
RUN PETSTORE_ENVIRONMENT=production ALLOWED_HOSTS=build.invalid DATABASE_URL=sqlite:////tmp/build.sqlite3 \
    SECRET_KEY=$(.venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(64))') \
    .venv/bin/python manage.py collectstatic --no-input --verbosity 0 \
    && .venv/bin/python -m compileall -q -j 0 categories changes commands database files history idempotency pets petstore_site rest server .venv/lib

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin petstore
COPY --from=build /opt/petstore /opt/petstore
RUN install --directory --owner petstore /opt/petstore/var
WORKDIR /opt/petstore
ENV PATH=/opt/petstore/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    PETSTORE_ENVIRONMENT=production HOST=0.0.0.0 PORT=8000
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s --retries=3 \
    CMD ["python", "deploy/healthy.py"]
CMD ["gunicorn", "--config", "deploy/gunicorn.conf.py"]
