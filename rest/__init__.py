"""A REST API in JSON: errors, paging, limits, description. It does not depend on animals or keys."""
