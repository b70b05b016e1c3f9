"""Write the folder with solutions and wrong answers that only teachers should see."""
