//! How much memory there is for this process: what the machine has, or what the container or the service that it runs in may use.
//!
//! Linux keeps such limits in *control groups*, which are directories. `/proc/self/cgroup` has the path of this process's group, as
//! seen from the root of the machine; a container often sees its own group as the root, and then the path leads nowhere. A group's
//! limit holds for all below it. So the path is walked upwards, and the smallest limit on the way counts.

use std::fs;
use std::path::Path;

/// Bytes of memory that the process may have use of.
pub(crate) fn physical_bytes() -> usize {
    // SAFETY: `sysconf` only reads.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let machine = if pages > 0 && page > 0 {
        pages as usize * page as usize
    } else {
        4 << 30
    };
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_limit(Path::new("/sys/fs/cgroup"), &groups).map_or(machine, |bytes| {
        usize::try_from(bytes).map_or(machine, |bytes| machine.min(bytes))
    })
}

/// The smallest limit of the groups in which a process is, by the lines of its `cgroup` file.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    groups
        .lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            // The second version has one tree for everything, the first one a tree for each controller.
            if controllers.is_empty() {
                smallest(root, path, "memory.max")
            } else if controllers.split(',').any(|name| name == "memory") {
                smallest(&root.join("memory"), path, "memory.limit_in_bytes")
            } else {
                None
            }
        })
        .min()
}

/// The smallest number in the files of this name, from the group upwards. A group without a limit has a word in it, or a number
/// that no machine reaches.
fn smallest(tree: &Path, path: &str, file: &str) -> Option<u64> {
    Path::new(path.trim_start_matches('/'))
        .ancestors()
        .filter_map(|group| {
            let text = fs::read_to_string(tree.join(group).join(file)).ok()?;
            text.trim().parse().ok()
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these files, which goes at the end.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("canny-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_smallest_limit_on_the_way_counts() {
        let tree = Tree::new(
            "groups-2",
            &[
                ("memory.max", "max\n"),
                ("system.slice/memory.max", "1000\n"),
                ("system.slice/guests.service/memory.max", "3000\n"),
                ("system.slice/free.service/memory.max", "max\n"),
                ("other/memory.max", "10\n"),
            ],
        );
        let limit = |groups| group_limit(&tree.0, groups);
        assert_eq!(limit("0::/system.slice/guests.service\n"), Some(1000));
        assert_eq!(limit("0::/system.slice/free.service\n"), Some(1000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("0::/somewhere/else\n"), None);
        assert_eq!(limit(""), None);
        assert_eq!(limit("nonsense\n"), None);
    }

    #[test]
    fn the_first_version_is_known() {
        let tree = Tree::new(
            "groups-1",
            &[
                ("memory/memory.limit_in_bytes", "268435456\n"),
                ("pids/memory.limit_in_bytes", "1\n"),
            ],
        );
        // The path is that of the machine, and the container's group is the root here.
        let groups = "5:pids:/a\n4:cpu,memory:/machine/a\n0::/a\n";
        assert_eq!(group_limit(&tree.0, groups), Some(268_435_456));
    }
}
