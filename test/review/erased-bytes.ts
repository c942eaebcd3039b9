/** Searches every byte of a repository, also deflated ones. */
import { execFileSync } from 'node:child_process'
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
    if (/objects\/[0-9a-f]{2}$/.test(path.parentPath) && inflated(bytes).includes(wanted)) found.push(file)
    if (path.name.endsWith('.pack'))
      for (const at of entriesOf(git, file, bytes)) if (at.includes(wanted)) found.push(file)
  }
  const objects = git.run(['cat-file', '--batch-all-objects', '--batch'])
  if (objects.includes(wanted)) found.push('git cat-file --batch-all-objects')
  return found
}

function inflated(bytes: Buffer): Buffer {
  return inflateSync(bytes)
}

/** Inflates each entry of a pack where its index says that it begins, also deltas. */
function entriesOf(git: Git, file: string, pack: Buffer): Buffer[] {
  const index = execFileSync('git', ['show-index'], { input: readFileSync(file.replace(/pack$/, 'idx')), cwd: git.dir })
  return index
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => Number(line.split(' ')[0]))
    .map((offset) => inflated(pack.subarray(contentAt(pack, offset))))
}

function contentAt(pack: Buffer, offset: number): number {
  const type = ((pack[offset] ?? 0) >> 4) & 7
  let at = offset
  while ((pack[at++] ?? 0) & 0x80);
  if (type === 7) return at + 20
  if (type === 6) while ((pack[at++] ?? 0) & 0x80);
  return at
}
