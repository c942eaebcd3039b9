/** Reads packed-refs, parsed once for each version of the file, and removes refs from it. */
import { readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createCache } from '../caching/caches.ts'
import { nameFile, syncDirectory, writeSynced } from '../durable.ts'
import { GitError } from '../errors.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { identityOf } from './file-identity.ts'

export interface PackedRefs {
  /** The identity of the file. It is empty if there is no file. */
  readonly identity: string
  readonly refs: ReadonlyMap<string, Oid>
}

/** Also keeps the names of all folders of the refs, after the first `hasPackedBelow`. */
interface CachedRefs extends PackedRefs {
  folders?: ReadonlySet<string>
}

const nothingPacked: CachedRefs = { identity: '', refs: new Map() }

/** Cached by path. An empty file counts, with its key, as four refs: 470 bytes. */
const cache = createCache<CachedRefs>('packed_refs', {
  sizeCalculation: ({ refs }) => refs.size + 4,
})

/**
 * Returns the packed refs as they are on disk now. Parses the file again only if it has changed.
 *
 * @throws GitError ref_damaged
 */
export function readPackedRefs(repo: Repo): PackedRefs {
  return cachedRefs(repo)
}

/** True if a packed ref has this name as a folder. @throws the errors of readPackedRefs */
export function hasPackedBelow(repo: Repo, name: string): boolean {
  const packed = cachedRefs(repo)
  packed.folders ??= foldersOf(packed.refs.keys())
  return packed.folders.has(name)
}

function foldersOf(names: Iterable<string>): Set<string> {
  const folders = new Set<string>()
  for (const ref of names)
    for (let at = ref.lastIndexOf('/'); at > 0 && !folders.has(ref.slice(0, at)); at = ref.lastIndexOf('/', at - 1))
      folders.add(ref.slice(0, at))
  return folders
}

function cachedRefs(repo: Repo): CachedRefs {
  const path = packedRefsPath(repo)
  const identity = identityOf(path)
  if (identity === '') return nothingPacked
  const known = cache.get(path)
  if (known?.identity === identity) return known
  const packed: CachedRefs = { identity, refs: parse(readFileSync(path, 'utf8')) }
  cache.set(path, packed)
  return packed
}

export function packedRefsPath(repo: Repo): string {
  return join(repo.dir, 'packed-refs')
}

/** The lock that Git takes for each rewrite. */
export function packedRefsLock(repo: Repo): string {
  return `${packedRefsPath(repo)}.lock`
}

/**
 * Parses packed-refs. Git never leaves the file empty or a line incomplete, so such a file has lost refs.
 *
 * @throws GitError ref_damaged
 */
function parse(text: string): Map<string, Oid> {
  const refs = new Map<string, Oid>()
  const lines = text.split('\n')
  let isWhole = lines.pop() === '' && lines.length > 0
  for (const line of lines) {
    const ref = refIn(line)
    if (ref) refs.set(ref.name, ref.oid)
    else if (!/^(#.*|\^[0-9a-f]{40}|)$/.test(line)) isWhole = false
  }
  if (!isWhole) throw new GitError('ref_damaged', 'packed-refs is damaged', { ref: 'packed-refs' })
  return refs
}

/**
 * The ref of a line. Undefined for the header and for a peeled object (`^…`), which belongs to the ref on the line
 * before.
 */
function refIn(line: string): { readonly name: string; readonly oid: Oid } | undefined {
  const oid = line.slice(0, 40)
  return line[40] === ' ' && isOid(oid) ? { name: line.slice(41), oid } : undefined
}

/**
 * Returns the file's content as Git writes it, but without peeled objects. Refs that point at commits have no peeled
 * objects. For other refs, Git looks them up.
 *
 * @param at the kind of objects that the refs point at
 */
export function packedRefsText(refs: ReadonlyMap<string, Oid>, at: 'commits' | 'any object' = 'commits'): string {
  // Git searches by bytes. Code units have another order in names with characters beyond 16 bits.
  const lines = [...refs]
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([ref, oid]) => `${oid} ${ref}\n`)
  return `# pack-refs with: ${at === 'commits' ? 'peeled fully-peeled ' : ''}sorted \n${lines.join('')}`
}

/**
 * Rewrites packed-refs without `refs`, through `scratch`, a path on the same file system. Writes nothing if none of
 * them is packed. The caller holds `packed-refs.lock`.
 */
export async function removePackedRefs(repo: Repo, refs: ReadonlySet<string>, scratch: string): Promise<void> {
  const path = packedRefsPath(repo)
  const kept: string[] = []
  let found = false
  let skipPeeled = false
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    if (line.startsWith('^') && skipPeeled) continue
    const ref = refIn(line)
    skipPeeled = ref !== undefined && refs.has(ref.name)
    if (skipPeeled) found = true
    else kept.push(line)
  }
  if (!found) return
  await rm(scratch, { force: true })
  await writeSynced(scratch, kept.join('\n'))
  nameFile(scratch, path)
  await syncDirectory(repo.dir)
}
