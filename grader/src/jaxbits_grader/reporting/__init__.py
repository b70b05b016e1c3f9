"""Write results, Canvas exports, and feedback pages for teachers and students."""
