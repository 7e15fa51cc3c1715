"""What a call of ``rewrite_data_files`` asks for: its arguments, options, order of rows and partition spec."""
