"""Build the website, and everything else that readers download."""
