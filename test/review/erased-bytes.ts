/** Searches every byte of a repository, also deflated ones. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import type { Git } from '../support/git.ts'

/** Lists where the text is: files, and objects as Git reads them. */
export function placesOf(git: Git, text: string): string[] {
  const wanted = Buffer.from(text)
  const found: string[] = []
  for (const path of readdirSync(git.dir, { recursive: true, withFileTypes: true })) {
    if (!path.isFile()) continue
    const file = join(path.parentPath, path.name)
    const bytes = readFileSync(file)
    if (bytes.includes(wanted)) found.push(file)
    if (/objects\/[0-9a-f]{2}$/.test(path.parentPath) && inflateSync(bytes).includes(wanted)) found.push(file)
    if (path.name.endsWith('.pack')) for (const entry of entriesOf(bytes)) if (entry.includes(wanted)) found.push(file)
  }
  const objects = git.run(['cat-file', '--batch-all-objects', '--batch'])
  if (objects.includes(wanted)) found.push('git cat-file --batch-all-objects')
  return found
}

/** Inflates each entry of a pack, also deltas, one after the other. Needs no index. */
function entriesOf(pack: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = 12; at < pack.length - 20; ) {
    const from = contentAt(pack, at)
    const options = { info: true } as Parameters<typeof inflateSync>[1]
    const { buffer, engine } = inflateSync(pack.subarray(from), options) as unknown as Inflated // the types of Node lack `info`
    found.push(buffer)
    at = from + engine.bytesWritten
  }
  return found
}

interface Inflated {
  readonly buffer: Buffer
  /** Counts the bytes that zlib has read. */
  readonly engine: { readonly bytesWritten: number }
}

/** The offset after the header of an entry, and after the base of a delta. */
function contentAt(pack: Buffer, offset: number): number {
  const type = ((pack[offset] ?? 0) >> 4) & 7
  let at = offset
  while ((pack[at++] ?? 0) & 0x80);
  if (type === 7) return at + 20
  if (type === 6) while ((pack[at++] ?? 0) & 0x80);
  return at
}
