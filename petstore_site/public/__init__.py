"""The public part of the site: landing page, API description, health checks and error pages."""
