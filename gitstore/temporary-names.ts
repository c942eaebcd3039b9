/** Names of unfinished files and folders, ours and Git's. The sweep finds stale ones by these names. */
import { randomUUID } from 'node:crypto'

/**
 * A repository, a folder of repositories, or a database, before it gets its name. Nothing under such a name is read.
 */
const unfinishedPrefix = 'tmp-'
/** A file before it replaces another. Git skips names that begin with a dot in a refs directory. */
const filePrefix = '.tmp-'
/** A loose object before it gets its name. Git uses the same prefix. */
const objectPrefix = 'tmp_obj_'
/** Objects of a merge that may be discarded. */
const scratchPrefix = 'quarantine-'
/** Git's own: its temporary files, the quarantine of a push, a list of shallow commits. */
const gitPrefixes = ['tmp_', 'incoming-', 'shallow_']

/** Node prepares the bytes of many UUIDs at once. `randomBytes` takes ten times as long, and a system call. */
function randomName(prefix: string): string {
  return `${prefix}${randomUUID().replaceAll('-', '').slice(16)}`
}

export function unfinishedName(suffix = ''): string {
  return `${randomName(unfinishedPrefix)}${suffix}`
}

export function temporaryFile(name: string): string {
  return randomName(`${filePrefix}${name.slice(0, 100)}-`)
}

export function temporaryObject(): string {
  return randomName(objectPrefix)
}

export function scratchFolder(): string {
  return randomName(scratchPrefix)
}

/** True for the name of an unfinished repository, folder or database. A crash may have left it. */
export function isUnfinished(name: string): boolean {
  return name.startsWith(unfinishedPrefix)
}

/**
 * True if a file or folder with this name in a repository is temporary. Below `refs/` only the prefix `.tmp-` counts,
 * because branches and tags may begin with the others.
 */
export function isTemporary(name: string, inRefs: boolean): boolean {
  const prefixes = inRefs ? [filePrefix] : [unfinishedPrefix, filePrefix, scratchPrefix, ...gitPrefixes]
  return prefixes.some((prefix) => name.startsWith(prefix))
}
