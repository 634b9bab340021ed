"""Tests of the laboratory: `make -C lab test` runs them."""
