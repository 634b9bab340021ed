"""Django's PostgreSQL, which fails at once while no connection can be opened."""
