"""Retrying a POST safely: the table of stored responses, and what makes an operation use it."""
