#!/bin/bash
# test.sh: README.md and docs/ against the code; no bed needed. See docs.py.
exec python3 "$(dirname "$0")/docs.py"
