#!/bin/sh
# Pushes workflow.yaml to acme/hello once more, with a comment that changes, and waits until its job has ended.
set -eu
cd "$(dirname "$0")"
# shellcheck source=examples/gitea/lib.sh
. ./lib.sh

path=/repos/acme/hello/contents/.gitea/workflows/hello.yaml
content=$({ cat workflow.yaml; echo "# $(date)"; } | base64 | tr -d '\n')
# first KEY prints the first value of that key in the JSON of standard input.
first() { grep -o "\"$1\":\"[0-9a-z]*\"" | head -n 1 | cut -d '"' -f 4; }
sha=$(gitea_api GET "$path" | first sha) || sha=
if [ -n "$sha" ]; then
	answer=$(gitea_api PUT "$path" "{\"message\": \"Run it again\", \"branch\": \"main\", \"sha\": \"$sha\", \"content\": \"$content\"}")
else
	answer=$(gitea_api POST "$path" "{\"message\": \"Add a workflow\", \"branch\": \"main\", \"content\": \"$content\"}")
fi
commit=$(printf '%s' "$answer" | grep -o '"commit":{.*' | first sha)
echo "pushed $commit"

# state prints what became of the push: pending, success, failure.
state() {
	gitea_api GET "/repos/acme/hello/commits/$commit/status" | first state
}

for _ in $(seq 300); do
	state=$(state) || state=
	case $state in
	success) echo "success"; exit ;;
	failure | error) die "the job ended with $state: see Gitea's page of the repository, Actions" ;;
	esac
	sleep 1
done
die "no runner took the job in five minutes: docker compose logs garm"
