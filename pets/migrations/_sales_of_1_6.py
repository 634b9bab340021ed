"""What releases 1.5 to 2.2 had of sales beside the column: tables, and from 2.0 on triggers that kept them for 1.6."""

TABLES = ("pets_sale", "pets_endedsale")

REMOVE = {
    "postgresql": ("DROP FUNCTION IF EXISTS sale_for_1_6() CASCADE", "DROP FUNCTION IF EXISTS sale_by_1_6() CASCADE"),
    "sqlite": ("DROP TRIGGER IF EXISTS sale_for_1_6", "DROP TRIGGER IF EXISTS deleted_sale_for_1_6"),
}
"""The triggers. Those on the tables themselves go with them on SQLite."""


def remove_triggers(schema_editor):
    for statement in REMOVE[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop_tables(schema_editor, suffix=""):
    for table in TABLES:
        schema_editor.execute(f"DROP TABLE IF EXISTS {table}{suffix}")
