"""How submitted code is run: the sandbox, the kernel in it, and the limits on both."""
