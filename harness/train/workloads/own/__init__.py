"""A user's own model, loss and data in place of a study's: `folklore run STUDY --workload MODULE:ATTRIBUTE`."""
