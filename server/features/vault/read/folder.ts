/** Lists the files of a folder to import, and the problems in it. */

import { isUtf8 } from 'node:buffer'
import type { Dirent } from 'node:fs'
import { lstat, readdir, realpath, statfs } from 'node:fs/promises'
import { basename, join, posix, relative, sep } from 'node:path'
import { isAbsent } from '../../../../gitstore/fs-exists.ts'
import { FolderReplacedError, replacedMeanwhile, withHeldFolder } from '../../../../gitstore/held-folders.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'
import * as limits from '../../../base/limits.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { type Exclusions, excludedFiles } from './exclusions.ts'

export interface Folder {
  /** The absolute path, with symbolic links resolved. */
  readonly dir: string
  readonly name: string
  /** Paths of regular files, in order. */
  readonly files: readonly string[]
  /** Symbolic links to such files, and their targets. */
  readonly symlinks: ReadonlyMap<string, string>
  /** Problems that do not lose content. */
  readonly problems: readonly PathProblem[]
  /** Problems that lose content. */
  readonly lost: readonly PathProblem[]
  /** Files that are excluded on purpose, and the folders above them. */
  readonly excluded: ReadonlySet<string>
  /** The folder and its subfolders, except those of tools. */
  readonly folders: readonly string[]
}

/** Names of unfinished files of editors and downloads. */
const temporary = /^(#.*#|[~.]\$.*|.*~|.*\.(tmp|temp|swp|swx|part|crdownload))$/i

/**
 * Lists `path` and its subfolders.
 *
 * Skips unfinished files, node_modules, and names that begin with a dot (.git, .obsidian, .env), which belong to tools.
 *
 * @throws the file system's error if the folder itself cannot be read; the errors of excludedFiles
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
      if (!isUtf8(entry.name)) lost.push({ path: at, reason: 'its name is not UTF-8; rename it' })
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
  /** The path from the listed folder. Bytes that are not UTF-8 are replaced. */
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
    lost.push({ path: folder || '.', reason: `in the kernel file system ${system}: skipped` })
  } catch (error) {
    if (folder === '') throw error
    lost.push({ path: folder, reason: unreadable(error) })
  }
  return []
}

const leadsNowhere = 'symbolic link to a file that is not imported: skipped'

/** Returns the symbolic links to listed files. Other links become problems. */
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

/** The reason for a listed file that no longer exists. */
export const removedMeanwhile = 'cannot be read: it was removed during the import'

/** True if another program has changed the folder since it was listed. */
export function isOfChange(reason: string): boolean {
  return reason === removedMeanwhile || reason === replacedMeanwhile
}

/** Reads a listed file of at most 10 MiB. Returns the reason if that fails: it may have changed since. */
export async function readListed(dir: string, path: string): Promise<Buffer | string> {
  try {
    return (await readRegular(join(dir, path), limits.fileBytes, dir)) ?? removedMeanwhile
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(error: unknown): string {
  if (error instanceof FolderReplacedError) return replacedMeanwhile
  return `cannot be read: ${error instanceof Error ? error.message.replace(/, \w+ '.*$/s, '') : String(error)}`
}

/** Virtual file systems of the kernel, whose files have size 0 and may be endless. Source: linux/magic.h. */
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

/**
 * Returns a function that names the kernel file system of a folder, if any.
 *
 * It calls statfs once per mounted file system. @throws system errors
 */
function kernelFolders(): (path: string) => Promise<string | undefined> {
  const nameOf = new Map<number, string | undefined>()
  return async (path) => {
    const { dev } = await lstat(path)
    if (!nameOf.has(dev)) nameOf.set(dev, kernelFileSystems.get((await statfs(path)).type))
    return nameOf.get(dev)
  }
}
