-- The side of the comparison with and without memories; NULL where the run took part in none.
ALTER TABLE trace ADD COLUMN arm TEXT;
