"""Read and validate assignment sources, and create notebooks and variants from them."""
