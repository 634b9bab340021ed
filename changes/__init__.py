"""Who changed what: what the history of every thing in the store has in common. Knows none of these things."""
