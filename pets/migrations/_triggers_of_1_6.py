"""The triggers of release 1.6, which keep `StockMovement`, `Sale` and `EndedSale`. They never change."""

from collections.abc import Iterable

from django.db import connection

from pets.sql import execute

TRIGGERS = {"pet_added", "pet_changed", "pet_removed"}

# One row for each group of animals and nothing updated: two writers never wait for each other. The path is fixed as
# pg_restore has none when it writes rows. A session keeps the plan of its first change, and a join that was planned for
# one animal compares each of ten thousand with each: sales are deleted with EXECUTE, which plans again, and what was is
# held against what is by EXCEPT.
POSTGRESQL = """
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
    EXECUTE $ended$
        WITH ended AS (DELETE FROM pets_sale s USING old_rows o WHERE o.status = 'sold' AND s.pet_id = o.id
                       RETURNING s.pet_id, s.day, o.updated_at)
        INSERT INTO pets_endedsale (pet_id, day, ended_at) SELECT * FROM ended
    $ended$;
    RETURN NULL;
END $$;

CREATE FUNCTION pet_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    SELECT (created_at AT TIME ZONE 'UTC')::date, category_id, status, sum(animals)
    FROM (SELECT created_at, category_id, status, 1 AS animals FROM new_rows
          UNION ALL SELECT created_at, category_id, status, -1 FROM old_rows) rows
    GROUP BY 1, 2, 3 HAVING sum(animals) <> 0;
    IF EXISTS (SELECT FROM old_rows WHERE status = 'sold') THEN
        EXECUTE $ended$
            WITH ended AS (DELETE FROM pets_sale USING new_rows WHERE pet_id = id AND status <> 'sold'
                           RETURNING pet_id, day, updated_at)
            INSERT INTO pets_endedsale (pet_id, day, ended_at) SELECT * FROM ended
        $ended$;
    END IF;
    INSERT INTO pets_sale (pet_id, day)
    SELECT id, (now() AT TIME ZONE 'UTC')::date FROM (SELECT id FROM new_rows WHERE status = 'sold'
                                                      EXCEPT SELECT id FROM old_rows WHERE status = 'sold') newly
    ON CONFLICT (pet_id) DO UPDATE SET day = excluded.day;
    RETURN NULL;
END $$;

CREATE FUNCTION pets_truncated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM pets_stockmovement;
    DELETE FROM pets_sale;
    DELETE FROM pets_endedsale;
    RETURN NULL;
END $$;

CREATE TRIGGER pet_added AFTER INSERT ON pets_pet
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_added();
CREATE TRIGGER pet_removed AFTER DELETE ON pets_pet
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_removed();
CREATE TRIGGER pet_changed AFTER UPDATE ON pets_pet
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pet_changed();
CREATE TRIGGER pets_truncated AFTER TRUNCATE ON pets_pet FOR EACH STATEMENT EXECUTE FUNCTION pets_truncated();
"""

REMOVE_FROM_POSTGRESQL = """
DROP FUNCTION IF EXISTS pet_added() CASCADE;
DROP FUNCTION IF EXISTS pet_removed() CASCADE;
DROP FUNCTION IF EXISTS pet_changed() CASCADE;
DROP FUNCTION IF EXISTS pets_truncated() CASCADE;
"""

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
    INSERT INTO pets_endedsale (pet_id, day, ended_at)
    SELECT pet_id, day, OLD.updated_at FROM pets_sale WHERE pet_id = OLD.id;
    DELETE FROM pets_sale WHERE pet_id = OLD.id;
END""",  # noqa: S608 - constants
    f"""
CREATE TRIGGER pet_changed AFTER UPDATE OF category_id, status, created_at ON pets_pet
WHEN (OLD.category_id, OLD.status, OLD.created_at) <> (NEW.category_id, NEW.status, NEW.created_at) BEGIN
    INSERT INTO pets_stockmovement (day, category_id, status, animals)
    VALUES (date(OLD.created_at), OLD.category_id, OLD.status, -1),
           (date(NEW.created_at), NEW.category_id, NEW.status, 1) {ADD};
    INSERT INTO pets_endedsale (pet_id, day, ended_at)
    SELECT pet_id, day, NEW.updated_at FROM pets_sale WHERE pet_id = OLD.id AND NEW.status <> 'sold';
    DELETE FROM pets_sale WHERE pet_id = OLD.id AND NEW.status <> 'sold';
    INSERT INTO pets_sale (pet_id, day) SELECT NEW.id, date('now') WHERE NEW.status = 'sold' AND OLD.status <> 'sold'
    ON CONFLICT (pet_id) DO UPDATE SET day = excluded.day;
END""",  # noqa: S608 - constants
)


def install() -> None:
    """Create the triggers, or replace them; the counts stay as they are."""
    remove()
    _run([POSTGRESQL] if connection.vendor == "postgresql" else SQLITE)


def remove() -> None:
    """Drop the triggers."""
    if connection.vendor == "postgresql":
        _run([REMOVE_FROM_POSTGRESQL])
    else:
        _run([f"DROP TRIGGER IF EXISTS {trigger}" for trigger in sorted(TRIGGERS)])


def _run(statements: Iterable[str]) -> None:
    for statement in statements:
        execute(statement)
