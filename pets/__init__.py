"""The animals of the store."""
