"""Retrying a POST safely: the table of answers already given, and the view mixin that uses it."""
