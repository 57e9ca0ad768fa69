"""One module a study, data only; register.py holds the documents and every claim, errata.py the verdicts withdrawn."""
