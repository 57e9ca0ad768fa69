"""The documents' monitoring set on somebody's own training loop."""
