# One line on why pip failed, from its log: what was not found or done, and what broke the connection to the index.
function unquoted(text) { gsub(/<[^>]*>: /, "", text); gsub(/^ +| +$/, "", text); return text }

/connection broken by / {
    cause = $0
    sub(/.*connection broken by '/, "", cause)
    sub(/': \/.*/, "", cause)
    broken = unquoted(cause)
}
/ERROR: No matching distribution found for / { sub(/.*found for /, ""); missing = unquoted($0) }
/ERROR: / && !/subprocess-exited|No matching|Could not find a version|does not appear/ && !told {
    sub(/.*ERROR: /, ""); told = unquoted($0)
}
NF { last = unquoted($0) }

END {
    if (missing && broken) print "cannot download " missing ": " broken "; is the package index reachable?"
    else if (missing) print "the package index has no " missing " for this Python"
    else if (told) print told
    else if (broken) print broken "; is the package index reachable?"
    else print last
}
