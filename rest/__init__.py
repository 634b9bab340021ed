"""A REST API in JSON: errors, paging, limits, description, database errors. It does not depend on animals or keys."""
