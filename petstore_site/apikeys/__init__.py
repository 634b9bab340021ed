"""Access to the API: bearer keys, their life and their use."""
