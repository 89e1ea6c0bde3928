"""The configuration: what it may say, what it says, what is wrong with it."""
