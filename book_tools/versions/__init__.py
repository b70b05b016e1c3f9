"""Run the book on other versions of JAX, and compare the results."""
