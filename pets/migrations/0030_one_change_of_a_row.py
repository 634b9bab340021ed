"""A row of history names the import that it is a part of by its change, as any other change.

It can be killed and run again. Release 2.0 beside this one reads and writes `import_run_id`: a trigger gives the rows of
its imports their change. The next release drops the column, its index, and the trigger.
"""

from contextlib import contextmanager
from time import monotonic, sleep

from django.db import migrations, transaction

BLOCK = 1_000
GAP, LONG_GAP = 0.02, 0.2
"""Seconds in which others, who look for SQLite's one lock ten times a second, have their turn."""

# The rows of an import of 2.0 come before its change. All rows of one import were written alike, so the last says
# whether these have theirs.
HAVE_NONE = """
SELECT bulk_change_id IS NULL FROM pets_petchange WHERE import_run_id = NEW.id ORDER BY history_id DESC LIMIT 1
"""
GIVE = """
UPDATE pets_petchange SET bulk_change_id = NEW.change_id WHERE import_run_id = NEW.id AND bulk_change_id IS NULL
"""
POSTGRESQL = f"""
CREATE FUNCTION import_by_2_0() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {{schema}}, pg_temp AS $$
BEGIN
    IF ({HAVE_NONE}) THEN
        {GIVE};
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER import_by_2_0 AFTER UPDATE OF change_id ON pets_importrun FOR EACH ROW
    WHEN (OLD.change_id IS NULL AND NEW.change_id IS NOT NULL) EXECUTE FUNCTION import_by_2_0();
"""
"""With the rights of its owner: the service of 1.5 or 1.6 must not set a change."""
SQLITE = f"""
CREATE TRIGGER import_by_2_0 AFTER UPDATE OF change_id ON pets_importrun
WHEN OLD.change_id IS NULL AND NEW.change_id IS NOT NULL AND ({HAVE_NONE}) BEGIN
    {GIVE};
END
"""

NEXT = f"""
SELECT max(history_id) FROM (SELECT history_id FROM pets_petchange
    WHERE history_id > %s AND import_run_id IS NOT NULL AND bulk_change_id IS NULL ORDER BY history_id LIMIT {BLOCK}
) AS block
"""
COPY = """
UPDATE pets_petchange SET bulk_change_id = r.change_id FROM pets_importrun r
WHERE history_id > %s AND history_id <= %s AND r.id = import_run_id AND bulk_change_id IS NULL
"""

SINGLE = "bulk_change_id IS NULL AND undo_of_id IS NULL"
INDEXES = {
    "pet_change_request": f"(request_id, history_id) WHERE {SINGLE}",
    "pet_change_single": f"(history_date, history_id) WHERE {SINGLE}",
    "pet_change_single_by": f"(actor, history_date, history_id) WHERE {SINGLE}",
    "pet_change_edit": f"(history_date, history_id) WHERE {SINGLE} AND history_type = '~'",
    "pet_change_person": f"(history_date, history_id) WHERE {SINGLE} AND history_user_id IS NOT NULL",
    "pet_change_removal": f"(history_date, history_id) WHERE {SINGLE} AND history_type = '-'",
}
"""Without `import_run_id IS NULL`, which this release does not ask for."""


def install(apps, schema_editor):
    connection = schema_editor.connection
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        _remove(apps, schema_editor)
        if connection.vendor == "postgresql":
            cursor.execute("SELECT quote_ident(current_schema())")
            cursor.execute(POSTGRESQL.replace("{schema}", *cursor.fetchone()))
        else:
            cursor.execute(SQLITE)


def _remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION IF EXISTS import_by_2_0() CASCADE")
    else:
        schema_editor.execute("DROP TRIGGER IF EXISTS import_by_2_0")


@contextmanager
def _patient(connection):
    """Wait for an autovacuum in this block, which gives way after a second: no one waits behind what is done here."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = cursor.fetchone()
        cursor.execute("SET lock_timeout = '10s'")
        yield
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", before)


def _copy(apps, schema_editor):
    connection, after = schema_editor.connection, -1
    while True:
        with transaction.atomic(connection.alias), connection.cursor() as cursor:
            cursor.execute(NEXT, [after])
            [(last,)] = cursor.fetchall()
            if last is None:
                break
            cursor.execute(COPY, [after, last])
            after = last
        if connection.vendor == "sqlite":
            sleep(GAP)
    if connection.vendor == "postgresql":
        with _patient(connection):  # or it would plan undos as if nearly no row had a change
            schema_editor.execute("ANALYZE pets_petchange")


def _build(indexes):
    """Return what builds these indexes beside those of their names, and then takes their place."""

    def build(apps, schema_editor):
        for name, what in indexes.items():
            if schema_editor.connection.vendor == "postgresql":
                with _patient(schema_editor.connection):
                    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}_new")  # one that failed halfway
                    schema_editor.execute(f"CREATE INDEX CONCURRENTLY {name}_new ON pets_petchange {what}")
                    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
                    schema_editor.execute(f"ALTER INDEX {name}_new RENAME TO {name}")
            else:
                begun = monotonic()
                schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
                schema_editor.execute(f"CREATE INDEX {name} ON pets_petchange {what}")
                sleep(min(2 * (monotonic() - begun), LONG_GAP))  # who has few rows need not wait

    return build


BEFORE = {name: what.replace(SINGLE, f"{SINGLE} AND import_run_id IS NULL") for name, what in INDEXES.items()}


class Migration(migrations.Migration):
    atomic = False
    reviewed = "The trigger is created at once, rows get their change in blocks, and indexes are made CONCURRENTLY."
    dependencies = [("pets", "0029_fold_of_accents"), ("changes", "0007_additions")]

    operations = [
        migrations.RunPython(install, _remove),
        migrations.RunPython(_copy, migrations.RunPython.noop),
        migrations.RunPython(_build(INDEXES), _build(BEFORE)),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("petchange", "import_run")]),
    ]
