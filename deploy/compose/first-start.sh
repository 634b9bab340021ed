#!/bin/bash
# PostgreSQL's container reads this once, after roles.sql: the passwords, and that backups may come from their container.
set -eu
for role in petstore_migrator petstore_service petstore_backup; do
    psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$(cat "/run/secrets/$role")" <<SQL
ALTER ROLE $role PASSWORD :'password';
SQL
done
echo 'host replication petstore_backup all scram-sha-256' >>"$PGDATA/pg_hba.conf"
