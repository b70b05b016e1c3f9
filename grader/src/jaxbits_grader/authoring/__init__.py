"""Assignment sources and what is made from them: released notebooks, answers, and variants."""
