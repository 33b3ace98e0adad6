"""Tables and figures of the results page, made from rows alone."""
