/**
 * Objects and refs of a repository, read and written without Git. A Git process takes 3 ms, and a commit takes five.
 *
 * It knows only the plain cases. It returns undefined for the others, which are left to native Git. It shares no code with
 * the product, because tests compare the product with it.
 */

import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { constants, deflateSync, inflateSync } from 'node:zlib'

interface StoredObject {
  readonly type: string
  readonly content: Buffer
}

export const wholeId = /^[0-9a-f]{40}$/

/** The path of a loose object in a bare repository. */
export function looseFile({ dir }: { readonly dir: string }, oid: string): string {
  return join(dir, 'objects', oid.slice(0, 2), oid.slice(2))
}

/** Reads a loose object, or one that is whole in a pack. Undefined if there is none, or if it is a delta. */
export function readObject(dir: string, oid: string): StoredObject | undefined {
  const file = looseFile({ dir }, oid)
  if (!fs.existsSync(file)) return readPacked(dir, oid)
  const bytes = inflateSync(fs.readFileSync(file))
  const end = bytes.indexOf(0)
  return { type: bytes.toString('latin1', 0, bytes.indexOf(' ')), content: bytes.subarray(end + 1) }
}

/** Writes a loose object, unless the repository has it, and returns its id. Git also makes an old object young again. */
export function writeObject(dir: string, type: string, content: Buffer): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  const oid = createHash('sha1').update(bytes).digest('hex')
  const file = looseFile({ dir }, oid)
  const there = fs.existsSync(file) ? file : findPacked(dir, oid)?.pack
  if (there !== undefined) {
    fs.utimesSync(there, new Date(), new Date())
    return oid
  }
  if (!fs.existsSync(dirname(file))) fs.mkdirSync(dirname(file))
  const temporary = join(dirname(file), `tmp_obj_${randomUUID()}`)
  fs.writeFileSync(temporary, deflateSync(bytes, { level: constants.Z_BEST_SPEED }), { mode: 0o444 })
  fs.renameSync(temporary, file)
  return oid
}

const types: readonly (string | undefined)[] = [undefined, 'commit', 'tree', 'blob', 'tag']

function readPacked(dir: string, oid: string): StoredObject | undefined {
  const found = findPacked(dir, oid)
  if (found === undefined) return undefined
  const file = fs.openSync(found.pack, 'r')
  try {
    const read = (bytes: number, at: number) => {
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, fs.readSync(file, buffer, 0, bytes, at))
    }
    // Three bits of the type and four of the size, then seven bits of the size in each byte.
    const [first = 0, ...more] = read(10, found.offset)
    const type = types[(first >> 4) & 7]
    const length = first < 128 ? 1 : more.findIndex((byte) => byte < 128) + 2
    const size = more.slice(0, length - 1).reduce((sum, byte, n) => sum + (byte & 127) * 2 ** (4 + 7 * n), first & 15)
    const mostCompressed = size + (size >> 8) + 64
    if (type === undefined) return undefined
    return { type, content: inflateSync(read(mostCompressed, found.offset + length)) }
  } finally {
    fs.closeSync(file)
  }
}

/** Searches the indexes of the packs. They have counts by first byte, sorted ids, checksums and offsets. */
function findPacked(dir: string, oid: string): { readonly pack: string; readonly offset: number } | undefined {
  const folder = join(dir, 'objects/pack')
  const id = Buffer.from(oid, 'hex')
  const first = id[0] ?? 0
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder).filter((one) => one.endsWith('.idx')) : []) {
    const index = fs.readFileSync(join(folder, name))
    const total = index.readUInt32BE(8 + 4 * 255)
    const last = index.readUInt32BE(8 + 4 * first)
    for (let n = first === 0 ? 0 : index.readUInt32BE(4 + 4 * first); n < last; n++) {
      const at = 1_032 + 20 * n
      if (index.compare(id, 0, 20, at, at + 20) !== 0) continue
      return {
        pack: join(folder, name.replace(/idx$/, 'pack')),
        offset: index.readUInt32BE(1_032 + 24 * total + 4 * n),
      }
    }
  }
  return undefined
}

/** Reads a branch. Undefined if it does not exist, or is a symbolic ref. */
export function readBranch(dir: string, branch: string): string | undefined {
  const ref = `refs/heads/${branch}`
  const file = join(dir, ref)
  const found = fs.statSync(file, { throwIfNoEntry: false })?.isFile()
    ? fs.readFileSync(file, 'latin1').trimEnd()
    : packedRefs(dir).get(ref)
  return found !== undefined && wholeId.test(found) ? found : undefined
}

function packedRefs(dir: string): ReadonlyMap<string, string> {
  const file = join(dir, 'packed-refs')
  const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : []
  return new Map(lines.filter((line) => /^[0-9a-f]{40} /.test(line)).map((line) => [line.slice(41), line.slice(0, 40)]))
}

/** Moves a branch. Returns false if only Git can do that, or can say why not: nothing has changed then. */
export function moveBranch(dir: string, branch: string, oid: string): boolean {
  const isPlain = /^\w[\w-]*(\/\w[\w-]*)*$/.test(branch) && wholeId.test(oid)
  const isWatched = ['hooks', 'logs'].some((name) => fs.existsSync(join(dir, name)))
  if (!isPlain || isWatched || readObject(dir, oid)?.type !== 'commit') return false
  const ref = `refs/heads/${branch}`
  const file = join(dir, ref)
  const now = readBranch(dir, branch)
  if (now === oid) return true
  if (now === undefined && isInTheWay([...packedRefs(dir).keys()], ref)) return false
  // A symbolic or damaged ref, or a folder that may be empty.
  if (fs.existsSync(file) && (now === undefined || !fs.statSync(file).isFile())) return false
  try {
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(`${file}.lock`, `${oid}\n`, { flag: 'wx' })
  } catch {
    // Another ref has the name of a folder, or another process holds the lock.
    return false
  }
  fs.renameSync(`${file}.lock`, file)
  return true
}

/** True if one name is a folder of the other. */
function isInTheWay(refs: readonly string[], ref: string): boolean {
  return refs.some((other) => other.startsWith(`${ref}/`) || ref.startsWith(`${other}/`))
}
