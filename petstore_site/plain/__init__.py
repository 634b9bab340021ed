"""A shorter way for plain requests: the same functions as the viewset calls, without Django around them.

Whatever is unusual goes on to Django, whose viewset is the complete implementation (docs/decisions/0040).
"""
