"""Statements, the errors of databases, a breaker, and the search in names. It does not depend on an API."""
