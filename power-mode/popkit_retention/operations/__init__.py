"""What is looked up when a person or an agent asks, for more than one of those that show it; and `tables`, all operations with their
arguments, of which parser, help, completion, documents and schemas are made.
"""
