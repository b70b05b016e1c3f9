"""What students and teachers get: grade records, the results table, and feedback pages."""
