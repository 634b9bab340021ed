"""The first page of the back office: panels with figures. You see those whose lists you can view."""
