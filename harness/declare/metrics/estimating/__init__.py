"""Tools of estimators: means under weighted seeds, fits, rules of range tests, and operations in 16 bits."""
