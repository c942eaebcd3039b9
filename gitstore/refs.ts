/** Reads refs as git's files backend does, without native git: loose files win over packed-refs. Synchronous: 5 µs a ref. */
import { type BigIntStats, type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { codeOf, GitError } from './errors.ts'
import { isOid, type Oid, type Repo } from './repo.ts'
import { repoExists } from './repos.ts'

interface PackedRefs {
  readonly identity: string
  readonly refs: ReadonlyMap<string, Oid>
}

/** By path; 200,000 refs in all. A file without any takes, with its key, as much as four: 470 bytes. */
const packedRefsOf = new LRUCache<string, PackedRefs>({
  maxSize: 200_000,
  sizeCalculation: ({ refs }) => refs.size + 4,
})

/**
 * The object that `ref` (in full, `refs/…`) points at, or null where it does not exist.
 * Loose, packed, loose again: `git pack-refs` moves a ref from the first place to the second in between.
 *
 * @throws GitError repo_missing, ref_damaged (an empty or malformed file, packed-refs too)
 */
export function readRef(repo: Repo, ref: string): Oid | null {
  const oid = readLoose(repo, ref) ?? readPackedRefs(repo).get(ref) ?? readLoose(repo, ref)
  if (oid) return oid
  if (!repoExists(repo)) throw new GitError('repo_missing', 'The repository does not exist')
  return null
}

/**
 * Every ref below `prefix` (`refs/` or `refs/heads/`), sorted by name in code unit order.
 * Loose before packed, so that a ref being packed meanwhile is seen in one of the two.
 *
 * @throws GitError repo_missing, ref_damaged
 */
export function listRefs(repo: Repo, prefix: string): Map<string, Oid> {
  const found = new Map<string, Oid>()
  const vanished: string[] = []
  for (const ref of listLooseNames(repo, prefix.replace(/\/$/, ''))) {
    const oid = readLoose(repo, ref)
    if (oid) found.set(ref, oid)
    else vanished.push(ref)
  }
  const packed = readPackedRefs(repo)
  for (const [ref, oid] of packed.refs()) if (ref.startsWith(prefix) && !found.has(ref)) found.set(ref, oid)
  for (const ref of vanished) {
    const oid = readLoose(repo, ref)
    if (oid) found.set(ref, oid)
  }
  if (found.size === 0 && !repoExists(repo)) {
    throw new GitError('repo_missing', 'The repository does not exist')
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The packed refs as they are on disk now; parsed again only when the file is another one. */
export function readPackedRefs(repo: Repo): { get(ref: string): Oid | undefined; refs(): Iterable<[string, Oid]> } {
  const path = join(repo.dir, 'packed-refs')
  const stat = statOf(path)
  if (!stat) return { get: () => undefined, refs: () => [] }
  const identity = `${stat.ino}:${stat.size}:${stat.mtimeNs}`
  let packed = packedRefsOf.get(path)
  if (packed?.identity !== identity) {
    packed = { identity, refs: readPacked(path) }
    packedRefsOf.set(path, packed)
  }
  const { refs } = packed
  return { get: (ref) => refs.get(ref), refs: () => refs }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false, bigint: true })
  } catch (error) {
    if (isMissing(error)) return undefined // ENOTDIR: a file has taken the repository's place
    throw error
  }
}

/** Git never leaves it empty nor a line unfinished: what it lacks is not deleted but lost. */
function readPacked(path: string): Map<string, Oid> {
  const refs = new Map<string, Oid>()
  const text = readFileSync(path, 'utf8')
  const lines = text.split('\n')
  let isWhole = lines.pop() === '' && lines.length > 0
  for (const line of lines) {
    const oid = line.slice(0, 40)
    if (line[40] === ' ' && isOid(oid)) refs.set(line.slice(41), oid)
    else if (!/^(#.*|\^[0-9a-f]{40}|)$/.test(line)) isWhole = false
  }
  if (!isWhole) throw new GitError('ref_damaged', 'packed-refs is damaged', { ref: 'packed-refs' })
  return refs
}

function readLoose(repo: Repo, ref: string): Oid | undefined {
  let text: string
  try {
    text = readFileSync(join(repo.dir, ref), 'latin1')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  const oid = text.trimEnd()
  if (!isOid(oid)) throw new GitError('ref_damaged', `${ref} does not hold an object id`, { ref })
  return oid
}

function* listLooseNames(repo: Repo, folder: string): Iterable<string> {
  let entries: Dirent[]
  try {
    entries = readdirSync(join(repo.dir, folder), { withFileTypes: true })
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  for (const entry of entries) {
    const name = `${folder}/${entry.name}`
    // As git does: names that begin with a dot are temporary files.
    if (entry.name.startsWith('.')) continue
    if (entry.isDirectory()) yield* listLooseNames(repo, name)
    else if (entry.isFile() && !entry.name.endsWith('.lock')) yield name
  }
}

function isMissing(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR'
}
