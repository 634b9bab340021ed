"""The animals that were there before the triggers are counted, and those sold get their day from the history."""

from django.db import migrations

from pets import stock

BECAME_SOLD = """
INSERT INTO pets_sale (pet_id, day)
SELECT h.id, {day} FROM pets_petchange h JOIN pets_pet p ON p.id = h.id
WHERE p.status = 'sold' AND h.history_id = (
    SELECT max(became.history_id) FROM pets_petchange became
    WHERE became.id = h.id AND became.status = 'sold' AND became.history_type = '~' AND 'sold' <> (
        SELECT before.status FROM pets_petchange before
        WHERE before.id = became.id AND before.history_id < became.history_id
        ORDER BY before.history_id DESC LIMIT 1))
ON CONFLICT (pet_id) DO NOTHING
"""
DAY = {"postgresql": "(h.history_date AT TIME ZONE 'UTC')::date", "sqlite": "date(h.history_date)"}


def count(apps, schema_editor):
    stock.recount()
    schema_editor.execute(BECAME_SOLD.format(day=DAY[schema_editor.connection.vendor]))


class Migration(migrations.Migration):
    dependencies = [("pets", "0009_stock_movements")]

    operations = [migrations.RunPython(count, migrations.RunPython.noop)]
