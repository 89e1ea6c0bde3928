"""What leaves the context and comes back: placeholders, the surgery on transcripts, and the operations made of both."""
