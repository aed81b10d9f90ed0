//! A fake `curl` for tests, independent of the network and of this machine's programs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces `curl` for `file://` addresses.
const CURL: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --output) output=$2; shift ;;
        --url) url=$2; shift ;;
    esac
    shift
done
cat "${url#file://}" 2>/dev/null >"$output" && exit 0
echo "curl: (37) could not read $url" >&2
exit 37
"#;

/// Returns a value of `PATH` whose `curl` is that of the tests.
pub fn path(dir: &Path) -> OsString {
    let folder = dir.join("programs");
    fs::create_dir_all(&folder).unwrap();
    let curl = folder.join("curl");
    fs::write(&curl, CURL).unwrap();
    fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();
    std::env::join_paths([folder.as_path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap()
}
