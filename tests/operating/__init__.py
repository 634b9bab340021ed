"""What operators rely on, with real servers that stop, freeze and come back."""
