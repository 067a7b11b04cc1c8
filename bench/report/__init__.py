"""Results as tables, pictures and a document."""
