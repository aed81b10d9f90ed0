#!/bin/sh
# Packs sources, data files, results and figures of the commit, with metadata for Zenodo and as an
# RO-Crate, and the page results/comparison.html that `make compare` writes from the results. The
# same commit and page give the same bytes.
#
#   sh scripts/archive.sh [FOLDER]      # default: target; prints the file and its SHA-256
set -eu

folder=${1:-target}
cd "$(dirname "$0")/.."
git rev-parse --verify --quiet HEAD > /dev/null || {
	echo 'error: expected a git repository with a commit, found none' >&2
	exit 1
}
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
	echo 'note: uncommitted changes are not in the archive' >&2
version=$(git show HEAD:CITATION.cff | sed -n 's/^version: *//p')
name=matmech-$version
page=results/comparison.html
set --
if [ -f "$page" ]; then
	set -- --prefix="$name/results/" --add-file="$page"
else
	echo "note: $page is not in the archive; \`make compare\` writes it" >&2
fi
mkdir -p "$folder"
file=$folder/$name.tar.gz
# gzip -n omits name and time; the rest of the output depends only on the commit.
# An added file has the prefix before it.
git -c tar.umask=0022 archive --format=tar "$@" --prefix="$name/" HEAD |
	gzip -n -9 > "$file.tmp"
mv "$file.tmp" "$file"
if command -v sha256sum > /dev/null; then sha256sum "$file"; else shasum -a 256 "$file"; fi
