"""Pages for people below ``/ui/``: rendered here, kept fresh by a small script, without state of a client."""
