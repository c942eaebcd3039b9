/** Folders whose files are no files: the kernel makes their content up, without end or when it likes, and says size 0. */
import { lstat, statfs } from 'node:fs/promises'

/** Types of file systems as Linux numbers them. Source: linux/magic.h. */
const kernelFileSystems = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x73636673, 'securityfs'],
  [0x62656570, 'configfs'],
  [0x6165676c, 'pstore'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup'],
  [0xcafe4a11, 'bpf'],
])

/** Finds the name of such a file system, if a folder lies in one; asks once for each that is mounted. @throws system errors */
export function kernelFolders(): (path: string) => Promise<string | undefined> {
  const nameOf = new Map<number, string | undefined>()
  return async (path) => {
    const { dev } = await lstat(path)
    if (!nameOf.has(dev)) nameOf.set(dev, kernelFileSystems.get((await statfs(path)).type))
    return nameOf.get(dev)
  }
}
