/** Finds the repositories in a folder of copies by their content. Reports files and folders that only look like one. */
import { type Dirent, type Stats, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../../gitstore/errors.ts'
import { isAbsent } from '../../../gitstore/fs-exists.ts'
import { kindOf } from '../../../gitstore/regular-files.ts'
import { isUnfinished } from '../../../gitstore/temporary-names.ts'
import type { PathProblem } from '../format/path-problem.ts'

/** Levels of folders that are searched below the given one. */
const levels = 3

export interface Copies {
  /** Sorted paths of repositories, relative to the searched folder. */
  readonly paths: readonly string[]
  /** Unreadable, although their name or content is that of a repository. */
  readonly problems: readonly PathProblem[]
  /** Folders too deep to be searched. */
  readonly unsearched: readonly string[]
}

/** Searches neither inside repositories nor behind symbolic links. @throws system errors if `dir` cannot be read */
export async function findCopies(dir: string): Promise<Copies> {
  const paths: string[] = []
  const problems: PathProblem[] = []
  const unsearched: string[] = []
  for (const entry of await entriesOf(dir)) await look(entry.name, entry, 1)
  return { paths, problems, unsearched }

  async function look(path: string, entry: Dirent, level: number): Promise<void> {
    try {
      if (entry.isDirectory()) await lookInside(path, level)
      else if (isNamedRepository(path) || (entry.isSymbolicLink() && leadsToFolder(join(dir, path))))
        problems.push({
          path,
          reason: `is ${entry.isFile() ? 'a file' : kindOf(entry)}, not a folder, and was not read`,
        })
    } catch (error) {
      if (codeOf(error) === undefined) throw error
      problems.push({ path, reason: `cannot be read: ${error instanceof Error ? error.message : error}` })
    }
  }

  async function lookInside(path: string, level: number): Promise<void> {
    const missing = await missingParts(join(dir, path))
    if (missing.length === 0) {
      paths.push(path)
      return
    }
    const lacksOne = missing.length === 1 && !missing.includes('objects')
    if (isNamedRepository(path) || lacksOne)
      problems.push({ path, reason: `is not a repository: ${adviceOn(missing)}` })
    if (isNamedRepository(path) && missing.length < parts.length) return
    const entries = await entriesOf(join(dir, path))
    if (level < levels) for (const one of entries) await look(join(path, one.name), one, level + 1)
    else if (entries.some((one) => one.isDirectory() || one.isSymbolicLink())) unsearched.push(path)
  }
}

const parts = ['HEAD', 'objects', 'refs'] as const

/** Returns the parts of a repository that git needs and the folder lacks. */
async function missingParts(dir: string): Promise<(typeof parts)[number][]> {
  const missing: (typeof parts)[number][] = []
  for (const name of parts) {
    const found = await lstat(join(dir, name)).catch(orMissing)
    if (!found || !(name === 'HEAD' ? found.isFile() : found.isDirectory())) missing.push(name)
  }
  return missing
}

function adviceOn(missing: readonly string[]): string {
  const said = missing.map((name) => `${name} is missing or not a ${name === 'HEAD' ? 'file' : 'folder'}`).join(', ')
  // Git needs the folder even if it is empty after all refs are packed; tools that copy only files omit it.
  return missing.join() === 'refs' ? `${said}; if there is a file packed-refs, create an empty folder refs` : said
}

function isNamedRepository(path: string): boolean {
  return path.endsWith('.git')
}

async function entriesOf(dir: string): Promise<Dirent[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  return entries.filter(({ name }) => !isUnfinished(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function leadsToFolder(link: string): boolean {
  return statSync(link, { throwIfNoEntry: false })?.isDirectory() === true
}

function orMissing(error: unknown): Stats | undefined {
  if (isAbsent(error)) return undefined
  throw error
}
