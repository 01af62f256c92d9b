#!/bin/sh
# One run of `longlook gate` in a pipeline: writes its files below LONGLOOK_OUT, and ends with the gate's exit code.
#
#   LONGLOOK_TREE   the checkout of the stack (.)       LONGLOOK_CASES    names of cases, one a line (all)
#   LONGLOOK_BASE   the branch it is for (main)         LONGLOOK_GATE     how much worse it may be (the suite's)
#   LONGLOOK_STACK  the stack (found by its sources)    LONGLOOK_EXPLAIN  true or false (true)
#   LONGLOOK_OUT    folder of the results (longlook-gate)
set -eu
tree=${LONGLOOK_TREE:-.}
out=${LONGLOOK_OUT:-longlook-gate}
mkdir -p "$out"
rm -f "$out/comment.md" "$out/junit.xml" "$out/results.sarif" "$out/benchmark.json" "$out/bencher.json" # of an earlier run
set -- "$tree" --base "${LONGLOOK_BASE:-main}" --out "$out/run"
for form in markdown:comment.md junit:junit.xml sarif:results.sarif benchmark:benchmark.json bencher:bencher.json; do
  set -- "$@" "--${form%%:*}" "$out/${form#*:}"
done
[ -z "${LONGLOOK_STACK:-}" ] || set -- "$@" --stack "$LONGLOOK_STACK"
[ -z "${LONGLOOK_GATE:-}" ] || set -- "$@" --gate "$LONGLOOK_GATE"
[ "${LONGLOOK_EXPLAIN:-true}" = true ] || set -- "$@" --no-explain
while IFS= read -r name; do
  [ -z "$name" ] || set -- "$@" --only "$name"
done <<CASES
${LONGLOOK_CASES:-}
CASES

code=0
longlook gate "$@" 2>"$out/errors.txt" || code=$?
cat "$out/errors.txt" >&2
if [ ! -s "$out/comment.md" ]; then # it did not come to an answer: the comment says why
  {
    printf '<!-- longlook gate -->\n### longlook gate: no answer (exit %s)\n\n' "$code"
    tail -n 30 "$out/errors.txt" | sed 's/^/    /'
  } >"$out/comment.md"
fi
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
exit "$code"
