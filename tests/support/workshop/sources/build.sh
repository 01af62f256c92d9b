# build.sh VERSION OUT: what a compiler would do, as slowly as the version says
set -e
case "$1" in
quick*) ;;
slow*) echo begun >>"$WORKSHOP_LOG"; sleep 2 & echo $! >>"$WORKSHOP_LOG.pids"; wait ;;
held)
  echo begun >>"$WORKSHOP_LOG"
  for _ in $(seq 600); do [ -e "$WORKSHOP_LOG.go" ] && break; sleep 0.1; done ;;
broken) seq 30; echo "main.c:7: it does not build" >&2; exit 3 ;;
esac
printf '#!/bin/sh\necho %s\n' "$1" >"$2"
