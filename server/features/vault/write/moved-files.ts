/** Finds files of an exported folder that were moved since the export. */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbsent, lexists } from '../../../../gitstore/fs-exists.ts'
import { FolderReplacedError, withHeldFolder } from '../../../../gitstore/held-folders.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'
import { folded, isMarkdown } from '../../../markdown/note-names.ts'
import { hashOf, type Manifest } from '../read/export-manifest.ts'
import { readFrontMatter } from '../read/front-matter.ts'

/** Largest note that is read, in bytes. */
const maxNoteBytes = 10 * 1_048_576

/**
 * Returns the current paths of moved files, by their paths in the export.
 *
 * Notes are matched by the id in their front matter, other files by their bytes. If no file is missing, nothing is
 * read.
 */
export async function movedFiles(
  dir: string,
  { paths, hashes, notes }: Manifest,
): Promise<ReadonlyMap<string, string>> {
  const missing = new Set<string>()
  for (const path of paths) if (!lexists(join(dir, path))) missing.add(path)
  const moved = new Map<string, string>()
  if (missing.size === 0) return moved
  const missingOf = new Map<string, string>()
  for (const path of missing) for (const hash of hashes.get(folded(path)) ?? []) missingOf.set(hash, path)
  for (const path of await filesBelow(dir)) {
    if (hashes.has(folded(path))) continue
    const found = await hashOf(join(dir, path), dir)
    const hash = found && 'hash' in found ? found.hash : undefined
    const id = isMarkdown(path) ? await idOf(dir, path) : undefined
    const before = (id === undefined ? undefined : notes.get(id)) ?? missingOf.get(hash ?? '')
    if (before !== undefined && missing.has(before) && !moved.has(before)) moved.set(before, path)
  }
  return moved
}

/** Reads the id in the front matter. */
async function idOf(dir: string, path: string): Promise<string | undefined> {
  const bytes = await readRegular(join(dir, path), maxNoteBytes, dir)
  if (bytes === undefined || typeof bytes === 'string') return undefined
  return readFrontMatter(bytes.toString()).stated?.id
}

/** Returns the regular files that an import would not skip, in order. */
async function filesBelow(dir: string): Promise<string[]> {
  const files: string[] = []
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop())
    for (const entry of await entriesOf(dir, folder)) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      if (entry.isDirectory()) pending.push(`${folder}${entry.name}/`)
      else if (entry.isFile()) files.push(folder + entry.name)
    }
  return files.sort()
}

/** Lists a folder. Returns nothing if another program has moved or replaced it. */
function entriesOf(dir: string, folder: string): Promise<Dirent[]> {
  return withHeldFolder(dir, folder, (held) => readdir(held, { withFileTypes: true })).catch((error: unknown) => {
    if (error instanceof FolderReplacedError || isAbsent(error)) return []
    throw error
  })
}
