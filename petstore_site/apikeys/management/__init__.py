"""Keys on the command line."""
