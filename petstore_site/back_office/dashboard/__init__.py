"""The first page of the back office: panels with figures, each for those who may see what it counts."""
