"""Write the reports for students and teachers: results, Canvas exports, and feedback pages."""
