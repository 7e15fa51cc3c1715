"""Plan checkers: three phases in which a plan may be warned about or vetoed before its statement queues."""
