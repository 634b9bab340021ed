"""The tables that lab/benchmarks/servers.py creates."""

from django.db import models


class Category(models.Model):
    class Meta:
        db_table = "categories_category"


class Pet(models.Model):
    class Status(models.TextChoices):
        AVAILABLE = "available"
        PENDING = "pending"
        SOLD = "sold"

    name = models.CharField(max_length=255)
    category = models.ForeignKey(Category, on_delete=models.PROTECT)
    status = models.CharField(max_length=9, choices=Status, default=Status.AVAILABLE)


class Key(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    revoked_at = models.DateTimeField(null=True)
