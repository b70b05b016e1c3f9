"""Run hidden tests on a submission, and detect attempts to get around them."""
