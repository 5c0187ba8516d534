"""The demonstration: real decision records in, questions answered with evidence and path."""
