"""Reads files of animals and writes them into the catalogue, all or nothing; docs/import-commands.md shows how."""
