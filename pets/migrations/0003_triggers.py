"""Triggers keep how many animals there are and on which day they were added and sold."""

from django.db import migrations

from pets import triggers


class Migration(migrations.Migration):
    dependencies = [("pets", "0002_constraints_and_indexes")]

    operations = [migrations.RunPython(lambda *_: triggers.install(), lambda *_: triggers.remove())]
