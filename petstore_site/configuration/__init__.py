"""From environment variables to Django's settings: reading them, the database address, and checks of the result."""
