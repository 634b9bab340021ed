"""The categories of animals."""
