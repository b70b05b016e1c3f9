"""Build the web site, and everything else that readers download."""
