"""What is looked up when a person or an agent asks, for more than one of those that show it."""
