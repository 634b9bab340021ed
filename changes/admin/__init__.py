"""What was done to animals, in the back office: the list of all, one, and the pages that ask before many change."""
