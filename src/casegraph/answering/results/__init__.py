"""Results of questions: answers, explanations, and the text and HTML that people read of them."""
