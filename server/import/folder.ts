/** What lies in a folder to import: the paths of its files, and what of it cannot be taken. */
import { constants, type Dirent } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'

/** What could not be placed as it is; `path` is '/'-separated, from the folder ('.': the folder itself). */
export interface Problem {
  readonly path: string
  readonly reason: string
}

export interface Folder {
  /** Absolute, symbolic links resolved. */
  readonly dir: string
  readonly name: string
  /** Regular files, in order. */
  readonly files: readonly string[]
  /** Symbolic links to such files, and what they stand for. */
  readonly symlinks: ReadonlyMap<string, string>
  readonly problems: readonly Problem[]
}

/** Bytes; the limit that REST sets for one file (contract §5). */
const maxFileBytes = 10 * 1_048_576

export function isMarkdown(path: string): boolean {
  return markdownEnding.test(path)
}

export function withoutEnding(path: string): string {
  return path.replace(markdownEnding, '')
}

/** Names with the same folded form are one to a file system without case, and to Obsidian. */
export function folded(name: string): string {
  // Upper case first: ß and ss fold together only that way, as in gitstore/names.ts.
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
}

/** In the order in which a link without an ending prefers them. */
export const markdownEndings = ['.md', '.mdx', '.markdown'] as const
const markdownEnding = /\.(md|mdx|markdown)$/i

/**
 * Lists `path` and its subfolders; names that begin with a dot (.git, .obsidian, .env) and node_modules are tools' and
 * stay out.
 *
 * @throws the file system's error if the folder itself cannot be read
 */
export async function listFolder(path: string): Promise<Folder> {
  const dir = await realpath(path)
  const files: string[] = []
  const links: string[] = []
  const problems: Problem[] = []
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await entriesOf(dir, folder, problems)) {
      const at = folder + entry.name
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      if (entry.isDirectory()) pending.push(`${at}/`)
      else if (entry.isFile()) files.push(at)
      else if (entry.isSymbolicLink()) links.push(at)
      else problems.push({ path: at, reason: 'not a regular file' })
    }
  }
  const symlinks = await symlinksAmong(dir, links, new Set(files), problems)
  return { dir, name: basename(dir), files: files.sort(), symlinks, problems }
}

async function entriesOf(dir: string, folder: string, problems: Problem[]): Promise<Dirent[]> {
  try {
    return await readdir(join(dir, folder), { withFileTypes: true })
  } catch (error) {
    if (folder === '') throw error
    problems.push({ path: folder, reason: unreadable(error) })
    return []
  }
}

/** The symbolic links that stand for a listed file; the others are problems. */
async function symlinksAmong(
  dir: string,
  links: string[],
  files: ReadonlySet<string>,
  problems: Problem[],
): Promise<Map<string, string>> {
  const symlinks = new Map<string, string>()
  for (const path of links.sort()) {
    const target = await realpath(join(dir, path)).catch(() => undefined)
    const file = target && relative(dir, target).split(sep).join('/')
    if (file && files.has(file)) symlinks.set(path, file)
    else problems.push({ path, reason: 'a symbolic link to no imported file: not followed' })
  }
  return symlinks
}

/** The bytes of a listed file, or why it cannot be had. */
export async function readListed(dir: string, path: string): Promise<Buffer | string> {
  try {
    // Between listing and reading a file may have become a link or a pipe: neither is followed or waited for.
    const file = await open(join(dir, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const { size } = await file.stat()
      if (size > maxFileBytes) return `larger than 10 MiB (${(size / 1_048_576).toFixed(1)} MiB)`
      return await file.readFile()
    } finally {
      await file.close()
    }
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(error: unknown): string {
  return `cannot be read: ${error instanceof Error ? error.message.replace(/, \w+ '.*$/s, '') : String(error)}`
}
