"""The Django project of two peers, Django REST framework and django-ninja."""
