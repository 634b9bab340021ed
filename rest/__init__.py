"""A REST API in JSON: errors, paging, limits, description, database errors. It knows no animal and no key."""
