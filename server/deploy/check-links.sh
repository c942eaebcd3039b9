#!/bin/sh
# Checks that relative links in the Markdown files of a commit lead to files of its repository, and reports the result
# as a check of the commit. It is an example: README.md next to it says how to run it, and what it does not know.
#
# Needs sh, git, curl and awk. Ends with 0 if all links work, 1 if some do not, 2 if it is called in a wrong way, and 3
# if the service cannot be reached or refuses.
set -eu
LC_ALL=C
export LC_ALL

usage() {
  cat >&2 <<'USAGE'
Usage: GROVE=https://grove.example GROVE_TOKEN=grv_... check-links.sh ORG NODE COMMIT

  GROVE        the URL of the service
  GROVE_TOKEN  a personal access token with write access
  CHECK_NAME   the name of the check; default: links
  CHECK_URL    a page with more about this run, if there is one
USAGE
  exit 2
}

[ $# -eq 3 ] || usage
[ -n "${GROVE-}" ] && [ -n "${GROVE_TOKEN-}" ] || usage
org=$1 node=$2 commit=$3
case "$org$node$commit" in *[!0-9A-Za-z-]*) usage ;; esac
case "$GROVE_TOKEN" in *[!0-9A-Za-z._-]*) usage ;; esac
case "$GROVE" in http://* | https://*) grove=${GROVE%/} ;; *) usage ;; esac
case "${CHECK_URL-}" in *[\"\\]*) usage ;; esac
name=${CHECK_NAME:-links}
case "$name" in *[!0-9A-Za-z._-]*) usage ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 3' HUP INT TERM

say() {
  printf 'check-links: %s\n' "$*" >&2
}

# Reports a state with a description, which must be printable ASCII. The token is not among the arguments of curl, because
# other users of the machine can read those.
report() {
  text=$(printf '%s' "$2" | sed 's/[\\"]/\\&/g')
  body="{\"state\": \"$1\", \"description\": \"$text\"${CHECK_URL:+, \"url\": \"$CHECK_URL\"}}"
  status=$(
    printf 'header = "Authorization: Bearer %s"\n' "$GROVE_TOKEN" |
      curl -sS --config - --max-time 60 --retry 2 -X PUT -H 'Content-Type: application/json' -d "$body" \
        -o "$work/answer" -w '%{http_code}' "$grove/orgs/$org/nodes/$node/checks/$commit/$name" 2>"$work/error"
  ) || {
    say "cannot reach $grove: $(cat "$work/error")"
    return 3
  }
  [ "$status" = 200 ] && return
  say "the report was refused with status $status: $(head -c 2000 "$work/answer")"
  return 3
}

# The check did not run to its end. Without a report it would be pending for ever.
give_up() {
  say "$1"
  report failure "The check could not run; see its log" || true
  exit 3
}

report pending "Checking links" || exit

# A bare clone: no file of the commit is written to disk or run. The header is sent to this service only.
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=3
export GIT_CONFIG_KEY_0="http.$grove/.extraHeader" GIT_CONFIG_VALUE_0="Authorization: Bearer $GROVE_TOKEN"
export GIT_CONFIG_KEY_1=http.lowSpeedLimit GIT_CONFIG_VALUE_1=1
export GIT_CONFIG_KEY_2=http.lowSpeedTime GIT_CONFIG_VALUE_2=60
git clone --quiet --bare "$grove/git/$org/$node.git" "$work/node.git" >"$work/error" 2>&1 ||
  give_up "git cannot clone the node: $(tail -n 3 "$work/error")"
git() {
  command git --git-dir="$work/node.git" "$@"
}
git rev-parse --quiet --verify "$commit^{commit}" >"$work/error" ||
  give_up "no branch of the node contains $commit any more"

# One line a file: mode, type, object id, and the path after a tab.
git ls-tree -r -z "$commit" | tr '\n\0' '\001\n' >"$work/files"

# Prints the links of a file, one a line: the path of the file, the number of the line, and the target. Skips code.
cat >"$work/links.awk" <<'AWK'
function fence_in(text,   c, n) {
  sub(/^ +/, "", text)
  c = substr(text, 1, 1)
  if (c != "`" && c != "~") return ""
  for (n = 1; substr(text, n + 1, 1) == c;) n++
  return n < 3 || (c == "`" && index(substr(text, n + 1), "`")) ? "" : substr(text, 1, n)
}
function link(target) {
  gsub(/^[ \t]+|[ \t]+$/, "", target)
  if (target ~ /^</) { sub(/^</, "", target); sub(/>.*/, "", target) }
  else sub(/[ \t].*/, "", target)
  gsub(/\\/, "", target)
  gsub(/&amp;/, "\\&", target)
  print ENVIRON["FILE"] "\t" NR "\t" target
}
{
  text = $0
  sub(/\r$/, "", text)
  found = fence_in(text)
  if (fence != "") {
    if (index(found, fence) == 1 && text ~ /^ *[`~]+[ \t]*$/) fence = ""
    next
  }
  if (found != "") { fence = found; next }
  gsub(/\\\[[^]]*\]/, "", text)
  gsub(/\\\]/, "", text)
  gsub(/``[^`]+``/, "", text)
  gsub(/`[^`]+`/, "", text)
  if (text ~ /^ ? ? ?\[[^]^][^]]*\]:[ \t]*[^ \t]/) {
    sub(/^[^]]*\]:/, "", text)
    link(text)
    next
  }
  while (match(text, /\]\([^()]*(\([^()]*\)[^()]*)*\)/)) {
    link(substr(text, RSTART + 2, RLENGTH - 3))
    text = substr(text, RSTART + RLENGTH)
  }
}
AWK

tab=$(printf '\t')
awk -F '\t' '$1 ~ /^100(644|755) blob / && tolower($2) ~ /\.md$/' "$work/files" >"$work/texts"
while IFS=$tab read -r facts path; do
  git cat-file blob "${facts##* }" </dev/null | FILE=$path awk -f "$work/links.awk"
done <"$work/texts" >"$work/links"

# The name of a page in a vault is resolved by Grove, not by the files of one repository.
vault=0
if git cat-file blob "$commit:node.json" 2>"$work/error" | grep -q '"source_path"'; then vault=1; fi

# Prints each link that leads nowhere. The last line has the number of links, and of those that lead nowhere.
cat >"$work/resolve.awk" <<'AWK'
function decoded(text,   out, high, low) {
  while (match(text, /%[0-9A-Fa-f][0-9A-Fa-f]/)) {
    high = index("0123456789abcdef", tolower(substr(text, RSTART + 1, 1))) - 1
    low = index("0123456789abcdef", tolower(substr(text, RSTART + 2, 1))) - 1
    out = out substr(text, 1, RSTART - 1) (high + low == 0 ? "%00" : sprintf("%c", high * 16 + low))
    text = substr(text, RSTART + 3)
  }
  return out text
}
# The path from the root of the repository; ".." if it leads out of it.
function resolved(from, target,   parts, kept, n, i, depth, path) {
  sub(/[^\/]*$/, "", from)
  n = split(from target, parts, "/")
  for (i = 1; i <= n; i++) {
    if (parts[i] == "" || parts[i] == ".") continue
    if (parts[i] != "..") kept[++depth] = parts[i]
    else if (depth-- == 0) return ".."
  }
  for (i = 1; i <= depth; i++) path = path (i > 1 ? "/" : "") kept[i]
  return path
}
BEGIN { FS = "\t"; known[""] = 1 }
FNR == NR {
  path = substr($0, index($0, "\t") + 1)
  known[path] = 1
  while (sub(/\/[^\/]*$/, "", path)) known[path] = 1
  next
}
{
  target = $3
  # Anchors, other hosts, and pages of the service.
  if (target ~ /^[#?\/]/ || target ~ /^[A-Za-z][A-Za-z0-9+.-]*:/ || target == "") next
  sub(/[#?].*/, "", target)
  target = decoded(target)
  if (vault && target ~ /(^|\/)[^\/.]*$|\.[mM][dD]$/) next
  path = resolved($1, target)
  # Another repository.
  if (path == "..") next
  count++
  if (path in known) next
  broken++
  print $1 ":" $2 ": " $3
}
END { print count + 0, broken + 0 }
AWK
awk -v vault="$vault" -f "$work/resolve.awk" "$work/files" "$work/links" >"$work/result"

counts=$(tail -n 1 "$work/result")
count=${counts% *} broken=${counts#* }
sed '$d' "$work/result"
if [ "$broken" -eq 0 ]; then
  report success "All $count links to files work" || exit
  exit 0
fi
first=$(head -n 1 "$work/result")
description="$broken of $count links to files lead nowhere"
# A longer text, or one that is not ASCII, may be cut in the middle of a character.
case "$first" in
  *[!\ -~]*) ;;
  *) [ $((${#description} + ${#first})) -lt 190 ] && description="$description: $first" ;;
esac
report failure "$description" || exit
exit 1
