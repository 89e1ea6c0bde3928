"""Take results out of the context and bring them back: placeholders, the surgery on transcripts, and the operations made of both."""
