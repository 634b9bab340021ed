"""Retrying a POST safely: the table of responses already given, and the view mixin that uses it."""
