"""Programs and tests that follow the feed of changes while everything else writes."""
