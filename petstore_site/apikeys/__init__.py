"""Who may use the API: bearer keys, their life and their use."""
