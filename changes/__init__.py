"""What was done to animals."""
