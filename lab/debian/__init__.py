"""The service on Debian with nothing but its packages: under systemd, and in its image."""
