"""Call answers with inputs that no test uses, and compare the results with right answers."""
