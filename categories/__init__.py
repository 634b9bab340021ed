"""What kinds of animals the store keeps."""
