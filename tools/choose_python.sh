#!/bin/sh
# Prints the Python that the virtual environment is made of: of those at hand that are new enough and can make one, the
# first that was built with profile-guided optimization, and else the first. Planning is Python, and a Python without
# it (what pyenv builds unless told otherwise) takes a third longer.
suitable='
import sys, sysconfig
if not (3, 11) <= sys.version_info[:2] < (3, 13):
    raise SystemExit(2)
import ensurepip, venv
# Distributions build their own so, but do not write it into the arguments of configure.
optimized = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "") or sys.base_prefix == "/usr"
raise SystemExit(0 if optimized else 3)
'
first=
for candidate in $(command -v python3.11) $(command -v python3.12) $(command -v python3) /usr/bin/python3.11 /usr/bin/python3.12 /usr/bin/python3; do
	[ -x "$candidate" ] || continue
	"$candidate" -c "$suitable" 2>/dev/null
	case $? in
	0) echo "$candidate"; exit 0 ;;
	3) first=${first:-$candidate} ;;
	esac
done
echo "$first"
