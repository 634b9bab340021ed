"""Tests of petstore_site.request_desk."""
