"""What holds for every request, pages too: how it is read, its ID, its access record, logs, metrics and traces."""
