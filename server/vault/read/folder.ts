/** What lies in a folder to import: the paths of its files, and what of it cannot be taken. */

import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, statfs } from 'node:fs/promises'
import { basename, join, posix, relative, sep } from 'node:path'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { FolderReplacedError, replacedMeanwhile, withHeldFolder } from '../../../gitstore/held-folders.ts'
import { readRegular } from '../../../gitstore/regular-files.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { type Exclusions, excludedFiles } from './exclusions.ts'

export interface Folder {
  /** Absolute, symbolic links resolved. */
  readonly dir: string
  readonly name: string
  /** Regular files, in order. */
  readonly files: readonly string[]
  /** Symbolic links to such files, and what they stand for. */
  readonly symlinks: ReadonlyMap<string, string>
  /** Problems that leave nothing out. */
  readonly problems: readonly PathProblem[]
  /** Content that is left out. */
  readonly lost: readonly PathProblem[]
  /** Files that are left out on purpose, and the folders above them. */
  readonly excluded: ReadonlySet<string>
  /** The folder and those below it, but for those of tools. */
  readonly folders: readonly string[]
}

/** Bytes; the limit that REST sets for one file. */
const maxFileBytes = 10 * 1_048_576

/** Names of editors' and loaders' unfinished files. */
const temporary = /^(#.*#|[~.]\$.*|.*~|.*\.(tmp|temp|swp|swx|part|crdownload))$/i

/**
 * Lists `path` and its subfolders; names that begin with a dot (.git, .obsidian, .env) and node_modules are tools' and
 * stay out; so do unfinished files.
 *
 * @throws the file system's error if the folder itself cannot be read; as excludedFiles
 */
export async function listFolder(path: string, exclusions: Exclusions = noExclusions): Promise<Folder> {
  const dir = await realpath(path)
  const folders: string[] = []
  const files: string[] = []
  const links: string[] = []
  const problems: PathProblem[] = []
  const lost: PathProblem[] = []
  const kernel = kernelFolders()
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    folders.push(folder.slice(0, -1))
    for (const { at, name, entry } of await entriesOf(dir, folder, kernel, lost)) {
      if (name.startsWith('.') || name === 'node_modules' || temporary.test(name)) continue
      if (!isUtf8(entry.name)) lost.push({ path: at, reason: 'its name is not UTF-8: rename it' })
      else if (entry.isDirectory()) pending.push(`${at}/`)
      else if (entry.isFile()) files.push(at)
      else if (entry.isSymbolicLink()) links.push(at)
      else problems.push({ path: at, reason: 'not a regular file' })
    }
  }
  const found = await excludedFiles(dir, [...files, ...links], exclusions)
  const isKept = (path: string) => !found.has(path)
  const kept = files.filter(isKept).sort()
  const symlinks = await symlinksAmong(dir, links.filter(isKept), new Set(kept), problems, lost)
  return { dir, name: basename(dir), files: kept, symlinks, problems, lost, excluded: withFolders(found), folders }
}

const noExclusions: Exclusions = { exclude: [], signal: new AbortController().signal }

function withFolders(files: ReadonlySet<string>): Set<string> {
  const paths = new Set(files)
  for (const file of files)
    for (let at = posix.dirname(file); at !== '.' && !paths.has(at); at = posix.dirname(at)) paths.add(at)
  return paths
}

interface Listed {
  /** From the listed folder; bytes that are not UTF-8 are replaced. */
  readonly at: string
  readonly name: string
  readonly entry: Dirent<Buffer>
}

async function entriesOf(
  dir: string,
  folder: string,
  kernel: (path: string) => Promise<string | undefined>,
  lost: PathProblem[],
): Promise<Listed[]> {
  try {
    const system = await kernel(join(dir, folder))
    if (system === undefined) {
      const list = (held: string) => readdir(held, { withFileTypes: true, encoding: 'buffer' })
      const entries = await withHeldFolder(dir, folder, list)
      return entries.map((entry) => {
        const name = entry.name.toString()
        return { at: folder + name, name, entry }
      })
    }
    lost.push({ path: folder || '.', reason: `in ${system}, whose files the kernel makes up: not imported` })
  } catch (error) {
    if (folder === '') throw error
    lost.push({ path: folder, reason: unreadable(error) })
  }
  return []
}

const leadsNowhere = 'a symbolic link to no imported file: not followed'

/** The symbolic links that stand for a listed file; the others are problems. */
async function symlinksAmong(
  dir: string,
  links: string[],
  files: ReadonlySet<string>,
  problems: PathProblem[],
  lost: PathProblem[],
): Promise<Map<string, string>> {
  const symlinks = new Map<string, string>()
  for (const path of links.sort()) {
    try {
      const file = relative(dir, await realpath(join(dir, path)))
        .split(sep)
        .join('/')
      if (files.has(file)) symlinks.set(path, file)
      else problems.push({ path, reason: leadsNowhere })
    } catch (error) {
      if (isAbsent(error)) problems.push({ path, reason: leadsNowhere })
      else lost.push({ path, reason: unreadable(error) })
    }
  }
  return symlinks
}

/** Why a listed file cannot be had that is gone. */
export const removedMeanwhile = 'cannot be read: it was removed meanwhile'

/** Whether the reason is that another program has changed the folder since it was listed. */
export function isOfChange(reason: string): boolean {
  return reason === removedMeanwhile || reason === replacedMeanwhile
}

/** The bytes of a listed file, 10 MiB at most, or why it cannot be had: between listing and reading it may have changed. */
export async function readListed(dir: string, path: string): Promise<Buffer | string> {
  try {
    return (await readRegular(join(dir, path), maxFileBytes, dir)) ?? removedMeanwhile
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(error: unknown): string {
  if (error instanceof FolderReplacedError) return replacedMeanwhile
  return `cannot be read: ${error instanceof Error ? error.message.replace(/, \w+ '.*$/s, '') : String(error)}`
}

/** File systems whose files the kernel makes up, of size 0 and perhaps without end, by type. Source: linux/magic.h. */
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
function kernelFolders(): (path: string) => Promise<string | undefined> {
  const nameOf = new Map<number, string | undefined>()
  return async (path) => {
    const { dev } = await lstat(path)
    if (!nameOf.has(dev)) nameOf.set(dev, kernelFileSystems.get((await statfs(path)).type))
    return nameOf.get(dev)
  }
}
