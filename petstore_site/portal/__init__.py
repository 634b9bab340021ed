"""The developer portal: landing page, guide, reference, changelog and a page for each error, rendered on the server."""
