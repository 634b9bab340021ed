"""Reads files of animals and writes them into the catalogue, all or nothing; docs/importing.md shows how."""
