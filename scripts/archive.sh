#!/bin/sh
# One archive of sources, data files, results and figures of the committed state, with metadata for Zenodo and as an RO-Crate. The same
# commit gives the same bytes: times are those of the commit, and nothing of this machine is in it.
#
#   sh scripts/archive.sh [FOLDER]      # default: target; prints the file and its SHA-256
set -eu

folder=${1:-target}
cd "$(dirname "$0")/.."
git rev-parse --verify --quiet HEAD > /dev/null || {
	echo 'error: expected a git repository with a commit, found none; the archive is of a commit' >&2
	exit 1
}
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
	echo 'note: files differ from the commit; the archive has them as committed' >&2
version=$(git show HEAD:CITATION.cff | sed -n 's/^version: *//p')
name=matmech-$version
mkdir -p "$folder"
file=$folder/$name.tar.gz
# gzip -n leaves out name and time; without a compressor of its own configuration git's output depends on the commit alone.
git -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD | gzip -n -9 > "$file.tmp"
mv "$file.tmp" "$file"
if command -v sha256sum > /dev/null; then sha256sum "$file"; else shasum -a 256 "$file"; fi
