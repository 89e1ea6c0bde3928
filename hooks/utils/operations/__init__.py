"""What is done, or looked up, when a person asks: in whatever skin, with the data and the view of it as the answer."""
