/** The names of files and folders that are not complete yet, ours and git's. The removal of stale files goes by them. */
import { randomBytes } from 'node:crypto'

/** A repository, a folder of several, or a database, before it gets its name. Nothing under such a name is read. */
const unfinishedPrefix = 'tmp-'
/** A file before it replaces another. Git skips names with a dot in a refs directory. */
const filePrefix = '.tmp-'
/** A loose object before it gets its name, as git names it too. */
const objectPrefix = 'tmp_obj_'
/** Objects of a merge that may come to nothing. */
const scratchPrefix = 'quarantine-'
/** Git's own: its temporary files, the quarantine of a push, a list of shallow commits. */
const gitPrefixes = ['tmp_', 'incoming-', 'shallow_']

function randomName(prefix: string): string {
  return `${prefix}${randomBytes(8).toString('hex')}`
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

/** Whether what has this name is still being made, or was left so by a crash. */
export function isUnfinished(name: string): boolean {
  return name.startsWith(unfinishedPrefix)
}

/**
 * Whether a file or folder of that name in a repository is temporary. Below `refs/` only a dot tells: branches and tags may
 * have any of the other names.
 */
export function isTemporary(name: string, inRefs: boolean): boolean {
  const prefixes = inRefs ? [filePrefix] : [unfinishedPrefix, filePrefix, scratchPrefix, ...gitPrefixes]
  return prefixes.some((prefix) => name.startsWith(prefix))
}
