"""How Django writes dates: as the rest of the back office does."""
