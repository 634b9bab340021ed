"""What is open to everyone: the landing page, the description and its page, health, and error pages."""
