"""Tests of petstore_site.apikeys."""
