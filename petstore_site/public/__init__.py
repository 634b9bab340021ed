"""The public part of the site besides the portal: API description, health checks and error pages."""
