"""The triggers that keep `StockMovement`, and the days of sale of the animals and of their history, whatever writes.

A statement that sets the status of an animal decides its day; one that sets only the day, an undo, has the last word.
A migration that makes SQLite rebuild the table of animals or of their history (any change of a field or a constraint
does) begins with `remove` and ends with `install`.
"""

from django.db import connection

from pets.sql import execute

TRIGGERS = {"pet_added", "pet_changed", "pet_removed", "pet_sold", "pet_recorded"}

RECORDS_DAY = "NEW.status = 'sold' AND NEW.sold_on IS NULL AND (NEW.history_type <> '+' OR NEW.import_line IS NULL)"
"""What an import adds has no day: it would cost a large one 5 % to look."""

# One row for each group of animals and nothing updated: two writers never wait for each other. The path is fixed as
# pg_restore has none when it writes rows.
POSTGRESQL = f"""
CREATE FUNCTION pet_added() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    SELECT (created_at AT TIME ZONE 'UTC')::date, category_id, status, count(*) FROM new_rows GROUP BY 1, 2, 3;
    RETURN NULL;
END $$;

CREATE FUNCTION pet_removed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    SELECT (created_at AT TIME ZONE 'UTC')::date, category_id, status, -count(*) FROM old_rows GROUP BY 1, 2, 3;
    RETURN NULL;
END $$;

CREATE FUNCTION pet_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    SELECT (created_at AT TIME ZONE 'UTC')::date, category_id, status, sum(animals)
    FROM (SELECT created_at, category_id, status, 1 AS animals FROM new_rows
          UNION ALL SELECT created_at, category_id, status, -1 FROM old_rows) rows
    GROUP BY 1, 2, 3 HAVING sum(animals) <> 0;
    RETURN NULL;
END $$;

CREATE FUNCTION pet_sold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.sold_on := CASE WHEN NEW.status <> 'sold' THEN NULL
                        WHEN OLD.status = 'sold' THEN OLD.sold_on ELSE (now() AT TIME ZONE 'UTC')::date END;
    RETURN NEW;
END $$;

CREATE FUNCTION pet_recorded() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    SELECT sold_on INTO NEW.sold_on FROM pets_pet WHERE id = NEW.id;
    IF NOT FOUND THEN
        SELECT sold_on INTO NEW.sold_on FROM pets_petchange WHERE id = NEW.id ORDER BY history_id DESC LIMIT 1;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION pets_truncated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM pets_stockmovement;
    RETURN NULL;
END $$;

CREATE TRIGGER pet_added AFTER INSERT ON pets_pet
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_added();
CREATE TRIGGER pet_removed AFTER DELETE ON pets_pet
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_removed();
CREATE TRIGGER pet_changed AFTER UPDATE ON pets_pet
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_changed();
CREATE TRIGGER pet_sold BEFORE UPDATE OF status ON pets_pet FOR EACH ROW
    WHEN (OLD.status <> NEW.status OR OLD.sold_on IS DISTINCT FROM NEW.sold_on) EXECUTE FUNCTION pet_sold();
CREATE TRIGGER pet_recorded BEFORE INSERT ON pets_petchange FOR EACH ROW
    WHEN ({RECORDS_DAY}) EXECUTE FUNCTION pet_recorded();
CREATE TRIGGER pets_truncated AFTER TRUNCATE ON pets_pet FOR EACH STATEMENT EXECUTE FUNCTION pets_truncated();
"""  # noqa: S608 - constants

ADD = "ON CONFLICT (day, category_id, status) DO UPDATE SET animals = animals + excluded.animals"

# SQLite has triggers for each row only, and one writer at a time: one row a day, category and status is added to.
# Nothing is taken from an empty ledger, which has been emptied together with the animals.
SQLITE = (
    "CREATE UNIQUE INDEX IF NOT EXISTS stock_movement_is_one ON pets_stockmovement (day, category_id, status)",
    f"""
CREATE TRIGGER pet_added AFTER INSERT ON pets_pet BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    VALUES (date(NEW.created_at), NEW.category_id, NEW.status, 1) {ADD};
END""",  # noqa: S608 - constants
    f"""
CREATE TRIGGER pet_removed AFTER DELETE ON pets_pet WHEN EXISTS (SELECT 1 FROM pets_stockmovement) BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    VALUES (date(OLD.created_at), OLD.category_id, OLD.status, -1) {ADD};
END""",  # noqa: S608 - constants
    f"""
CREATE TRIGGER pet_changed AFTER UPDATE OF category_id, status, created_at ON pets_pet
WHEN (OLD.category_id, OLD.status, OLD.created_at) <> (NEW.category_id, NEW.status, NEW.created_at) BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    VALUES (date(OLD.created_at), OLD.category_id, OLD.status, -1),
           (date(NEW.created_at), NEW.category_id, NEW.status, 1) {ADD};
END""",  # noqa: S608 - constants
    """
CREATE TRIGGER pet_sold AFTER UPDATE OF status ON pets_pet
WHEN OLD.status <> NEW.status OR OLD.sold_on IS NOT NEW.sold_on BEGIN
    UPDATE pets_pet SET sold_on = CASE WHEN NEW.status <> 'sold' THEN NULL
                                       WHEN OLD.status = 'sold' THEN OLD.sold_on ELSE date('now') END
    WHERE id = NEW.id;
END""",
    f"""
CREATE TRIGGER pet_recorded AFTER INSERT ON pets_petchange WHEN {RECORDS_DAY} BEGIN
    UPDATE pets_petchange SET sold_on = (
        SELECT sold_on FROM pets_pet WHERE id = NEW.id
        UNION ALL SELECT * FROM (SELECT sold_on FROM pets_petchange WHERE id = NEW.id AND history_id < NEW.history_id
                                 ORDER BY history_id DESC LIMIT 1) LIMIT 1)
    WHERE history_id = NEW.history_id;
END""",  # noqa: S608 - constants
)


def install() -> None:
    """Create the triggers, or replace them; the counts stay as they are."""
    remove()
    for statement in [POSTGRESQL] if connection.vendor == "postgresql" else SQLITE:
        execute(statement)


def remove() -> None:
    """Drop the triggers."""
    if connection.vendor == "postgresql":
        for name in (*sorted(TRIGGERS), "pets_truncated"):
            execute(f"DROP FUNCTION IF EXISTS {name}() CASCADE")
    else:
        for name in sorted(TRIGGERS):
            execute(f"DROP TRIGGER IF EXISTS {name}")
