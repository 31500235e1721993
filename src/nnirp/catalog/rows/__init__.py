"""Which source configurations exist: one file of rows per family. Ids are never changed and never reused."""
