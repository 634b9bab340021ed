"""British English, with ISO dates."""
