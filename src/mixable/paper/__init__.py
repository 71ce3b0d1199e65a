"""The paper's room."""
