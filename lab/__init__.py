"""What measures and breaks the service from outside (README.md). Nothing of the product imports it."""
