-- Of a merge by a person: the memory that stands for the merged one.
ALTER TABLE memory_change ADD COLUMN merged_into TEXT;
CREATE INDEX memory_change_by_merged_into ON memory_change (project, merged_into)
    WHERE merged_into IS NOT NULL;
