//! The memory limit of the control groups that this process belongs to (Linux, cgroups(7)): those of
//! version 1 and 2, and each group around the process up to the root of what is mounted. A container,
//! a service of systemd with `MemoryMax=` and a pod of Kubernetes are such groups.

use std::fs;
use std::path::{Path, PathBuf};

/// The smallest memory limit of the groups around a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CgroupLimit {
    pub(crate) bytes: u64,
    /// The file that has the limit.
    pub(crate) file: PathBuf,
}

/// The versions of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Version {
    /// The files of a group with limits of its memory. Above `memory.high`, the kernel slows the group
    /// down until it hardly runs.
    fn limit_files(self) -> &'static [&'static str] {
        match self {
            Version::V1 => &["memory.limit_in_bytes"],
            Version::V2 => &["memory.max", "memory.high"],
        }
    }
}

/// A mounted hierarchy of groups.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// The group that is mounted, as a path within the hierarchy.
    root: String,
    /// The path at which it is mounted.
    mount_point: String,
}

/// Returns the smallest memory limit of the groups around this process. Returns `None` without a
/// limit, and on systems without control groups.
pub(super) fn memory_limit() -> Option<CgroupLimit> {
    memory_limit_in(Path::new("/"))
}

/// As [`memory_limit`], for the files of a system below this path.
fn memory_limit_in(system: &Path) -> Option<CgroupLimit> {
    let read = |path: &str| fs::read_to_string(system.join(path)).ok();
    let groups = read("proc/self/cgroup")?;
    let mounts = read("proc/self/mountinfo")?;
    let mounts = mounts.lines().filter_map(Mount::parse);
    mounts
        .filter_map(|mount| {
            let group = group_of_process(&groups, mount.version)?;
            mount.smallest_limit(system, group)
        })
        .min_by_key(|limit| limit.bytes)
}

/// Returns the group of a process in the hierarchy with the memory controller, from
/// `/proc/PID/cgroup`: lines of the form `HIERARCHY:CONTROLLER,…:PATH`, where version 2 has the
/// hierarchy 0 and no controllers.
fn group_of_process(groups: &str, version: Version) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_wanted = match version {
            Version::V1 => controllers.split(',').any(|name| name == "memory"),
            Version::V2 => hierarchy == "0" && controllers.is_empty(),
        };
        is_wanted.then_some(path)
    })
}

impl Mount {
    /// Parses a line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)). Returns `None` if groups with
    /// memory limits are not mounted there.
    fn parse(line: &str) -> Option<Self> {
        // The number of the fields before the dash varies.
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let version = match file_system.next()? {
            "cgroup2" => Version::V2,
            "cgroup" => {
                let mut options = file_system.nth(1)?.split(',');
                options.find(|option| *option == "memory")?;
                Version::V1
            }
            _ => return None,
        };
        let mut mount = mount.split(' ').skip(3);
        let (root, mount_point) = (mount.next()?, mount.next()?);
        Some(Self {
            version,
            root: unescape(root),
            mount_point: unescape(mount_point),
        })
    }

    /// Returns the smallest limit of a group and those around it, as far as they are mounted here.
    fn smallest_limit(&self, system: &Path, group: &str) -> Option<CgroupLimit> {
        let top = system.join(self.mount_point.trim_start_matches('/'));
        let nearest = top.join(self.path_below_root(group));
        let groups = nearest
            .ancestors()
            .take_while(|folder| folder.starts_with(&top));
        groups
            .flat_map(|folder| {
                let files = self.version.limit_files().iter();
                files.filter_map(|name| read_limit(folder.join(name)))
            })
            .min_by_key(|limit| limit.bytes)
    }

    /// Returns the path of a group from the group that is mounted. It is empty if the group is outside
    /// of it, which a process of another namespace sees as `/../…`.
    fn path_below_root<'a>(&self, group: &'a str) -> &'a str {
        let root = self.root.trim_end_matches('/');
        let below = group.strip_prefix(root).unwrap_or_default();
        let is_below = below.is_empty() || below.starts_with('/');
        if !is_below || below.split('/').any(|part| part == "..") {
            return "";
        }
        below.trim_start_matches('/')
    }
}

/// Reads the limit in a file. Returns `None` if there is no such file, or no limit in it.
fn read_limit(file: PathBuf) -> Option<CgroupLimit> {
    let bytes = fs::read_to_string(&file).ok()?;
    // Without a limit, version 2 has the word `max`, and version 1 more than any machine has.
    let bytes: u64 = bytes.trim().parse().ok()?;
    (bytes > 0).then_some(CgroupLimit { bytes, file })
}

/// Decodes the octal escapes of a path in `mountinfo`: `\040` is a space.
fn unescape(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|it| u8::from_str_radix(it, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const MIB: u64 = 1024 * 1024;

    /// The value of a file of version 1 without a limit.
    const V1_UNLIMITED: &str = "9223372036854771712";

    /// A system with these files.
    fn system(files: &[(&str, &str)]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// Returns the limit of a system in MiB, and its file.
    fn limit(files: &[(&str, &str)]) -> Option<(u64, String)> {
        let system = system(files);
        let limit = memory_limit_in(system.path())?;
        let file = limit.file.strip_prefix(system.path()).unwrap();
        Some((limit.bytes / MIB, file.to_str().unwrap().to_owned()))
    }

    fn found(mib: u64, file: &str) -> Option<(u64, String)> {
        Some((mib, file.to_owned()))
    }

    const V2_MOUNT: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";

    const V1_MOUNT: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn a_service_of_systemd_has_the_limit_of_its_unit() {
        let files = [
            ("proc/self/mountinfo", V2_MOUNT),
            ("proc/self/cgroup", "0::/system.slice/bridge.service\n"),
            ("sys/fs/cgroup/memory.stat", "anon 1\n"),
            ("sys/fs/cgroup/system.slice/memory.max", "max\n"),
            (
                "sys/fs/cgroup/system.slice/bridge.service/memory.max",
                "314572800\n",
            ),
            (
                "sys/fs/cgroup/system.slice/bridge.service/memory.high",
                "max\n",
            ),
        ];
        let file = "sys/fs/cgroup/system.slice/bridge.service/memory.max";
        assert_eq!(limit(&files), found(300, file));
        let (_, without) = files.split_last().unwrap();
        let high = ["268435456\n", "max\n"];
        for (high, expected) in high.into_iter().zip([256, 300]) {
            let mut files = without.to_vec();
            let path = "sys/fs/cgroup/system.slice/bridge.service/memory.high";
            files.push((path, high));
            assert_eq!(limit(&files).unwrap().0, expected, "{high}");
        }
    }

    #[test]
    fn the_smallest_limit_on_the_way_to_the_root_counts() {
        let limits = |slice, service| {
            limit(&[
                ("proc/self/mountinfo", V2_MOUNT),
                ("proc/self/cgroup", "0::/a.slice/b.service/payload\n"),
                ("sys/fs/cgroup/a.slice/memory.max", slice),
                ("sys/fs/cgroup/a.slice/b.service/memory.max", service),
                ("sys/fs/cgroup/a.slice/b.service/payload/cgroup.procs", "1"),
                // Not around the process.
                ("sys/fs/cgroup/a.slice/c.service/memory.max", "1048576"),
            ])
        };
        let (mib_200, mib_100) = ("209715200", "104857600");
        let [slice, service] =
            ["", "/b.service"].map(|it| format!("sys/fs/cgroup/a.slice{it}/memory.max"));
        assert_eq!(limits(mib_200, mib_100), found(100, &service));
        assert_eq!(limits(mib_100, mib_200), found(100, &slice));
        assert_eq!(limits(mib_100, "max"), found(100, &slice));
        assert_eq!(limits("max", "max"), None);
    }

    #[test]
    fn a_container_of_version_2_sees_its_group_as_the_root() {
        let files = [
            ("proc/self/mountinfo", V2_MOUNT),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "536870912\n"),
        ];
        assert_eq!(limit(&files), found(512, "sys/fs/cgroup/memory.max"));
        // A process that was moved into the namespace from outside.
        let mut files = files;
        files[1].1 = "0::/../../other\n";
        assert_eq!(limit(&files), found(512, "sys/fs/cgroup/memory.max"));
    }

    #[test]
    fn a_container_of_version_1_has_its_group_mounted() {
        let mounted =
            "40 39 0:32 /docker/4f2a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        for (group, folder) in [
            ("4:memory:/docker/4f2a\n", ""),
            ("4:cpu,memory:/docker/4f2a/child\n", "child/"),
            ("4:memory:/docker/4f2abc\n", ""),
        ] {
            let file = format!("sys/fs/cgroup/memory/{folder}memory.limit_in_bytes");
            let files = [
                ("proc/self/mountinfo", mounted),
                ("proc/self/cgroup", group),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", V1_UNLIMITED),
                (&*file, "314572800\n"),
            ];
            assert_eq!(limit(&files), found(300, &file), "{group}");
        }
    }

    #[test]
    fn nested_groups_of_version_1_have_the_smallest_limit_also_beside_version_2() {
        let mounts =
            format!("{V1_MOUNT}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
        let files = [
            ("proc/self/mountinfo", &*mounts),
            (
                "proc/self/cgroup",
                "9:name=systemd:/\n4:memory:/a/b\n0::/\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", V1_UNLIMITED),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "209715200"),
            (
                "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                V1_UNLIMITED,
            ),
            ("sys/fs/cgroup/unified/cgroup.procs", "1\n"),
        ];
        let file = "sys/fs/cgroup/memory/a/memory.limit_in_bytes";
        assert_eq!(limit(&files), found(200, file));
    }

    #[test]
    fn files_that_are_missing_or_malformed_have_no_limit() {
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[("proc/self/cgroup", "0::/\n")]), None);
        for (mounts, groups, max) in [
            ("", "0::/\n", "1048576"),
            (V2_MOUNT, "", "1048576"),
            (V2_MOUNT, "0:/\nx", "1048576"),
            (V2_MOUNT, "0::/\n", ""),
            (V2_MOUNT, "0::/\n", "0"),
            (V2_MOUNT, "0::/\n", "-1"),
            ("30 23 - cgroup2\n - \n", "0::/\n", "1048576"),
        ] {
            let files = [
                ("proc/self/mountinfo", mounts),
                ("proc/self/cgroup", groups),
                ("sys/fs/cgroup/memory.max", max),
            ];
            assert_eq!(limit(&files), None, "{mounts} {groups} {max}");
        }
    }

    #[test]
    fn escaped_paths_are_decoded() {
        let line = r"30 23 0:26 / /a\040b\134c\0 rw - cgroup2 cgroup2 rw";
        assert_eq!(Mount::parse(line).unwrap().mount_point, r"/a b\c\0");
    }
}
