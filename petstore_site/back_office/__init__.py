"""The back office as a whole: the admin site, its first page and its charts."""
