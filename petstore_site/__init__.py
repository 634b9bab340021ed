"""How the store's catalogue is served: settings, HTTP plumbing, keys, health."""
