"""Plans, trains, records and judges studies. See README.md for the way of the data and the direction of imports."""
