-- Database roles: migrate, serve, back up, read. See docs/databases.md.
--
-- Run it as a superuser in the service's database, before the first migrate and after every migrate:
--     psql --single-transaction --set ON_ERROR_STOP=1 --dbname petstore --file deploy/postgresql/roles.sql
-- It can run again at any time. It sets no passwords: use psql's \password, or certificates.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['petstore_migrator', 'petstore_service', 'petstore_backup', 'petstore_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', role);
        END IF;
        EXECUTE format('ALTER ROLE %I NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS', role);
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
    END LOOP;
    EXECUTE format('ALTER DATABASE %I OWNER TO petstore_migrator', current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    -- An import works on temporary tables.
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO petstore_service', current_database());
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO petstore_migrator;
GRANT USAGE ON SCHEMA public TO petstore_service, petstore_backup, petstore_reader;

-- The service reads and writes rows. No TRUNCATE, no TRIGGER, no REFERENCES, and it owns nothing.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO petstore_service;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO petstore_service;
-- What the next migrate adds can be used at once, so that no release waits for this script.
ALTER DEFAULT PRIVILEGES FOR ROLE petstore_migrator IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO petstore_service;
ALTER DEFAULT PRIVILEGES FOR ROLE petstore_migrator IN SCHEMA public
    GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO petstore_service;

-- Backups: pg_dump reads everything, pg_basebackup and pg_receivewal replicate.
ALTER ROLE petstore_backup REPLICATION;
GRANT pg_read_all_data TO petstore_backup;
ALTER ROLE petstore_backup SET default_transaction_read_only = on;
ALTER ROLE petstore_reader SET default_transaction_read_only = on;
ALTER ROLE petstore_reader SET statement_timeout = '60s';

DO $$
DECLARE
    name text;
BEGIN
    IF to_regclass('public.django_migrations') IS NULL THEN
        RAISE NOTICE 'There are no tables yet. Run migrate as petstore_migrator, then this script again.';
        RETURN;
    END IF;
    REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM petstore_service;
    -- The history can only grow. Deleting a staff account clears its reference. The name in `actor` stays.
    FOREACH name IN ARRAY ARRAY['pets_petchange', 'categories_categorychange', 'apikeys_apikeychange'] LOOP
        EXECUTE format('REVOKE UPDATE, DELETE ON %I FROM petstore_service', name);
        EXECUTE format('GRANT UPDATE (history_user_id) ON %I TO petstore_service', name);
    END LOOP;
    GRANT UPDATE (bulk_change_id) ON pets_petchange TO petstore_service;  -- additions of a key are one change an hour
    -- People who analyse the catalogue see animals, not keys, accounts, sessions or requests.
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        IF name LIKE 'pets\_%' OR name LIKE 'categories\_%' THEN
            EXECUTE format('GRANT SELECT ON %I TO petstore_reader', name);
        END IF;
    END LOOP;
    REVOKE ALL ON pets_importupload FROM petstore_reader;  -- whole files as they were uploaded
END $$;
