"""What Presto expects where a text cannot go on: its grammar as rules, read as its parser generator reads them."""
