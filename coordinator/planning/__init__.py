"""From a text to a planned statement: parse, analyze, plan, optimize and fragment, as one pure function."""
