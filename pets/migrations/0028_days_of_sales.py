"""Triggers keep the days of sale. Those that are known are copied, in blocks, and the tables of release 1.6 stay right.

It can be killed and run again. The next release drops `pets_sale`, `pets_endedsale` and the triggers of this file.
"""

from django.db import migrations, models, transaction

from pets import triggers
from pets.migrations import _triggers_of_1_6

BLOCK = 1_000
INDEX = "pet_sold_on ON pets_pet (sold_on, id) WHERE sold_on IS NOT NULL"

POSTGRESQL = """
CREATE FUNCTION sale_for_1_6() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM pets_sale;
        DELETE FROM pets_endedsale;
    ELSIF TG_OP = 'DELETE' OR (OLD.status = 'sold' AND NEW.status <> 'sold') THEN
        WITH ended AS (DELETE FROM pets_sale WHERE pet_id = OLD.id RETURNING pet_id, day)
        INSERT INTO pets_endedsale (pet_id, day, ended_at)
        SELECT pet_id, day, COALESCE(NEW.updated_at, OLD.updated_at) FROM ended;
    ELSIF NEW.sold_on IS NULL THEN
        DELETE FROM pets_sale WHERE pet_id = NEW.id;
    ELSIF NOT EXISTS (SELECT FROM pets_sale WHERE pet_id = NEW.id AND day = NEW.sold_on) THEN
        INSERT INTO pets_sale (pet_id, day) VALUES (NEW.id, NEW.sold_on)
        ON CONFLICT (pet_id) DO UPDATE SET day = excluded.day;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION sale_by_1_6() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
    pet bigint := COALESCE(NEW.pet_id, OLD.pet_id);
BEGIN
    UPDATE pets_pet SET sold_on = NEW.day WHERE id = pet AND status = 'sold';
    UPDATE pets_petchange SET sold_on = NEW.day
    WHERE history_id = (SELECT max(history_id) FROM pets_petchange WHERE id = pet) AND status = 'sold';
    RETURN NULL;
END $$;

CREATE TRIGGER sale_for_1_6 AFTER UPDATE ON pets_pet FOR EACH ROW
    WHEN (OLD.status <> NEW.status OR OLD.sold_on IS DISTINCT FROM NEW.sold_on) EXECUTE FUNCTION sale_for_1_6();
CREATE TRIGGER deleted_sale_for_1_6 AFTER DELETE ON pets_pet FOR EACH ROW
    WHEN (OLD.status = 'sold') EXECUTE FUNCTION sale_for_1_6();
CREATE TRIGGER no_sale_for_1_6 AFTER TRUNCATE ON pets_pet FOR EACH STATEMENT EXECUTE FUNCTION sale_for_1_6();
CREATE TRIGGER sale_by_1_6 AFTER INSERT OR UPDATE OR DELETE ON pets_sale FOR EACH ROW
    WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION sale_by_1_6();
"""

REMOVE_FROM_POSTGRESQL = """
DROP FUNCTION IF EXISTS sale_for_1_6() CASCADE;
DROP FUNCTION IF EXISTS sale_by_1_6() CASCADE;
"""

SOLD = "SELECT 1 FROM pets_pet WHERE id = {}.pet_id AND status = 'sold'"
LAST = "SELECT max(history_id) FROM pets_petchange WHERE id = {}.pet_id"
SQLITE = {
    "sale_for_1_6": """
AFTER UPDATE OF status, sold_on ON pets_pet WHEN OLD.status <> NEW.status OR OLD.sold_on IS NOT NEW.sold_on BEGIN
    INSERT INTO pets_endedsale (pet_id, day, ended_at) SELECT pet_id, day, NEW.updated_at FROM pets_sale
    WHERE pet_id = NEW.id AND OLD.status = 'sold' AND NEW.status <> 'sold';
    DELETE FROM pets_sale WHERE pet_id = NEW.id
    AND NOT EXISTS (SELECT 1 FROM pets_pet WHERE id = NEW.id AND status = 'sold' AND sold_on IS NOT NULL);
    INSERT INTO pets_sale (pet_id, day)
    SELECT id, sold_on FROM pets_pet WHERE id = NEW.id AND status = 'sold' AND sold_on IS NOT NULL
    ON CONFLICT (pet_id) DO UPDATE SET day = excluded.day WHERE day <> excluded.day;
END""",
    "deleted_sale_for_1_6": """
AFTER DELETE ON pets_pet WHEN OLD.status = 'sold' BEGIN
    INSERT INTO pets_endedsale (pet_id, day, ended_at)
    SELECT pet_id, day, OLD.updated_at FROM pets_sale WHERE pet_id = OLD.id;
    DELETE FROM pets_sale WHERE pet_id = OLD.id;
END""",
    **{
        f"{name}_sale_by_1_6": f"""
AFTER {event} ON pets_sale WHEN EXISTS ({SOLD.format(row)}) BEGIN
    UPDATE pets_pet SET sold_on = {day} WHERE id = {row}.pet_id AND sold_on IS NOT {day};
    UPDATE pets_petchange SET sold_on = {day}
    WHERE history_id = ({LAST.format(row)}) AND status = 'sold' AND sold_on IS NOT {day};
END"""
        for name, event, row, day in (
            ("new", "INSERT", "NEW", "NEW.day"),
            ("other", "UPDATE", "NEW", "NEW.day"),
            ("no", "DELETE", "OLD", "NULL"),
        )
    },
}

# The statements of a block: of sales by the animal, of those that ended by their number. An undo needs the day in the
# row of history before the one that ended the sale, and in that of a deletion, which ended it at the last change. `+ 0`
# keeps PostgreSQL from reading all deletions for each animal.
SALES = (
    """
UPDATE pets_pet SET sold_on = s.day FROM pets_sale s
WHERE s.pet_id > %s AND s.pet_id <= %s AND pets_pet.id = s.pet_id AND status = 'sold' AND sold_on IS NULL
""",
    """
UPDATE pets_petchange SET sold_on = s.day FROM pets_sale s
WHERE s.pet_id > %s AND s.pet_id <= %s AND status = 'sold' AND sold_on IS NULL
AND pets_petchange.history_id = (SELECT max(c.history_id + 0) FROM pets_petchange c WHERE c.id = s.pet_id)
""",
)
ENDED = (
    """
UPDATE pets_petchange SET sold_on = e.day FROM pets_endedsale e
WHERE e.id > %s AND e.id <= %s AND status = 'sold' AND history_type <> '-' AND sold_on IS NULL
AND pets_petchange.history_id =
    (SELECT max(c.history_id + 0) FROM pets_petchange c WHERE c.id = e.pet_id AND c.history_date < e.ended_at)
""",
    """
UPDATE pets_petchange SET sold_on = e.day FROM pets_endedsale e
WHERE e.id > %s AND e.id <= %s AND status = 'sold' AND sold_on IS NULL
AND pets_petchange.history_id = (SELECT min(c.history_id + 0) FROM pets_petchange c
    WHERE c.id = e.pet_id AND c.history_type = '-' AND c.history_date >= e.ended_at)
AND NOT EXISTS (SELECT 1 FROM pets_petchange c WHERE c.id = e.pet_id AND c.status <> 'sold'
    AND c.history_date >= e.ended_at AND c.history_id < pets_petchange.history_id)
""",
)


def install(apps, schema_editor):
    """Create all triggers, also those for release 1.6. A migration that removed them ends with it."""
    connection = schema_editor.connection
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        _remove(connection, cursor)
        triggers.install()
        if connection.vendor == "postgresql":
            cursor.execute("SELECT quote_ident(current_schema())")
            cursor.execute(POSTGRESQL.replace("{schema}", *cursor.fetchone()))
        else:
            for name, trigger in SQLITE.items():
                cursor.execute(f"CREATE TRIGGER {name} {trigger}")


def _remove(connection, cursor):
    if connection.vendor == "postgresql":
        cursor.execute(REMOVE_FROM_POSTGRESQL)
    else:
        for name in SQLITE:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def _restore(apps, schema_editor):
    connection = schema_editor.connection
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        _remove(connection, cursor)
        triggers.remove()
        _triggers_of_1_6.install()


def _copy(apps, schema_editor):
    _copy_blocks(schema_editor.connection, "pets_sale", "pet_id", SALES)
    _copy_blocks(schema_editor.connection, "pets_endedsale", "id", ENDED)


def _copy_blocks(connection, table, key, statements):
    after = -1
    while True:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            next_keys = f"SELECT {key} FROM {table} WHERE {key} > %s ORDER BY {key} LIMIT {BLOCK}"
            cursor.execute(f"SELECT max({key}) FROM ({next_keys}) AS block", [after])
            [(last,)] = cursor.fetchall()
            if last is None:
                return
            for statement in statements:
                cursor.execute(statement, [after, last])
            after = last


def _concurrently(schema_editor):
    return "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""


def _create(apps, schema_editor):
    _drop(apps, schema_editor)  # one that failed halfway
    schema_editor.execute(f"CREATE INDEX {_concurrently(schema_editor)} {INDEX}")


def _drop(apps, schema_editor):
    schema_editor.execute(f"DROP INDEX {_concurrently(schema_editor)} IF EXISTS pet_sold_on")


class Migration(migrations.Migration):
    atomic = False
    reviewed = "Triggers are created at once, days are copied in blocks, and the index is made CONCURRENTLY."
    dependencies = [("pets", "0027_day_of_sale_in_history")]

    operations = [
        migrations.RunPython(install, _restore),
        migrations.RunPython(_copy, migrations.RunPython.noop),
        migrations.RunPython(_create, _drop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddIndex(
                    "pet",
                    models.Index(
                        fields=["sold_on", "id"],
                        condition=models.Q(sold_on__isnull=False),
                        name="pet_sold_on",
                    ),
                )
            ]
        ),
    ]
