"""The Django project: settings, middleware, API keys, staff, back office and public pages."""
