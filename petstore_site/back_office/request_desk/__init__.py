"""What happened to the request that a caller asks about."""
