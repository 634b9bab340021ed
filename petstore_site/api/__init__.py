"""The stateless HTTP plumbing of /v1: errors, paging, JSON, limits, description. It knows no app."""
