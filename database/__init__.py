"""Statements, the errors of databases, a breaker, and reads from a second server. It does not depend on an API."""
