"""Three database machines with Patroni, a service and its callers: what breaks them, and the verdict."""
