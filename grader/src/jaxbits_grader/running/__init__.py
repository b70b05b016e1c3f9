"""Run submitted code in a kernel inside a sandbox, and limit the resources that it uses."""
