"""What is checked while a submission runs: hidden tests, and attempts to get around them."""
