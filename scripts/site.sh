#!/bin/sh
# Writes the static site to target/site: README.md, docs/ and the pages of results/ with a search,
# made by mdBook 0.4 or 0.5 (`cargo install mdbook`). Links to other files of the repository lead to
# copies. Without mdBook: the documentation of the library (rustdoc), which has a search too.
set -eu

cd "$(dirname "$0")/.."
if ! command -v mdbook > /dev/null; then
	echo 'mdbook is not installed: the site is the documentation of the library, without docs/' >&2
	echo 'for all pages run `cargo install mdbook`' >&2
	exec "${CARGO:-cargo}" doc --release --locked --workspace --no-deps
fi
site=target/site
rm -rf "$site"
mkdir -p "$site/src"
tar cf - --exclude='*.npz' --exclude=results/cells --exclude=results/stand-in \
	--exclude=comparison.html ./*.md CITATION.cff Dockerfile LICENSE-* ro-crate-metadata.json \
	configs data/README.md data/tables docs examples experiments/src experiments/tests figures \
	python/README.md results scripts tests workflow crates/cli/tests/cmd fuzz/src |
	(cd "$site/src" && tar xf -)

# Prints the entries of pages: their first headings and files.
entries() {
	for page; do
		title=$(sed -n 's/^# *//p' "$site/src/$page" | head -n 1)
		echo "- [${title:-$page}]($page)"
	done
}
guides='docs/reviewing.md docs/extending.md docs/guide-for-data-stewards.md docs/streams.md'
(
	cd "$site/src"
	find docs -name '*.md' | sort
) > "$site/pages"
reference=$(for guide in $guides; do echo "$guide"; done | grep -vxFf - "$site/pages")
results=$(cd "$site/src" && find results data -name '*.md' | sort)
{
	echo '# Summary'
	echo '[matmech](README.md)'
	echo '# Guides'
	entries $guides
	echo '# Reference'
	entries $reference python/README.md workflow/README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
	echo '# Results'
	entries $results
} > "$site/src/SUMMARY.md"
cat > "$site/book.toml" <<'END'
[book]
title = "matmech"
language = "en"
src = "src"

[build]
build-dir = "html"
create-missing = false
use-default-preprocessors = false
END
mdbook build "$site"
echo "open $site/html/index.html"
