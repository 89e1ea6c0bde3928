"""Rules of the engine broken one at a time, to see that the tests notice."""
