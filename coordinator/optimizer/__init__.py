"""One ordered list of rules over plans; types are asserted after each."""
