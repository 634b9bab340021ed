"""What README shows and a program can draw: badges and the architecture. None of it runs in the service."""
