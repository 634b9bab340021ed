"""What in a file looks wrong though no rule says so: values that a program altered, texts in another encoding."""
