"""What is known of columns and partitions: from manifests, and in statistics files."""
