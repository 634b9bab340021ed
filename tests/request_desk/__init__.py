"""Tests of petstore_site.back_office.request_desk."""
