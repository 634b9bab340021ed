"""Who changed what: what the history of every model has in common. A library: it knows none of the models."""
