/**
 * Reads refs as Git's files backend does, but no symbolic refs. Loose files win over packed-refs. Reads are
 * synchronous and take 5 µs a ref.
 */
import { closeSync, type Dirent, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createCache } from '../caching/caches.ts'
import { GitError } from '../errors.ts'
import { isNoFile } from '../fs-exists.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { repoExists } from '../repo-folders.ts'
import { identityOf, tickOf } from './file-identity.ts'
import { packedRefsPath, readPackedRefs } from './packed-refs.ts'

/** Every ref below a prefix, with the identities that show later moves. */
interface Listing {
  readonly refs: ReadonlyMap<string, Oid>
  readonly loose: ReadonlyMap<string, Oid>
  /** The identity of packed-refs. */
  readonly packed: string
  /** The folders of loose refs, with their identities from before they were read. */
  readonly folders: ReadonlyMap<string, string>
  /** The `performance.now()` at which these identities were first read. */
  readonly since: number
  /** True if a stat shows every later move. The refs must be read long enough after `since`. */
  readonly isSettled: boolean
}

/**
 * Cached by repository and prefix. A listing counts as ten more refs, and each of its
 * folders as two.
 */
const listings = createCache<Listing>('ref_listings', {
  sizeCalculation: ({ refs, folders }) => refs.size + 2 * folders.size + 10,
})

/**
 * The object that `ref` points at, or null if it does not exist. `ref` is a full name, `refs/…`.
 *
 * Reads loose before packed, because `git pack-refs` may move the ref in between. Reads loose again, because a packed
 * ref may be deleted and created again as a loose one in between.
 *
 * @throws GitError repo_missing, ref_damaged (the ref's file or packed-refs is empty or malformed)
 */
export function readRef(repo: Repo, ref: string): Oid | null {
  const oid = readLoose(repo, ref) ?? readPackedRefs(repo).refs.get(ref) ?? readLoose(repo, ref)
  if (oid) return oid
  if (!repoExists(repo)) throw new GitError('repo_missing', 'The repository does not exist')
  return null
}

/**
 * Every ref below `prefix` (`refs/` or `refs/heads/`), sorted by name in code unit order. Returns the same map while no
 * ref has moved. The check for moves costs a stat of packed-refs and of each folder of loose refs. A file that was
 * written in place is seen with the next move in its folder, or with `afresh`. Git never writes refs in place. `readRef`
 * sees such a file at once.
 *
 * @throws GitError repo_missing, ref_damaged
 */
export function listRefs(
  repo: Repo,
  prefix: string,
  how: 'as known' | 'afresh' = 'as known',
): ReadonlyMap<string, Oid> {
  const key = `${repo.dir}/${prefix}`
  const known = listings.get(key)
  if (how === 'as known' && known?.isSettled && isUnmoved(repo, known)) return known.refs
  return listAgain(repo, prefix, known)
}

/**
 * Lists the refs below `prefix`, and reads the file of `ref` in any case. A write in place is seen at once in it.
 *
 * @throws the errors of listRefs
 */
export function listRefsWith(repo: Repo, prefix: string, ref: string): ReadonlyMap<string, Oid> {
  const known = listings.get(`${repo.dir}/${prefix}`)
  if (known?.isSettled && isUnmoved(repo, known)) {
    const oid = known.loose.get(ref)
    // Without a loose file, it is packed or missing, and a new file would have changed its folder.
    if (oid === undefined || readListed(repo, ref) === oid) return known.refs
  }
  return listAgain(repo, prefix, known)
}

function listAgain(repo: Repo, prefix: string, known: Listing | undefined): ReadonlyMap<string, Oid> {
  const key = `${repo.dir}/${prefix}`
  const listing = readListing(repo, prefix, known)
  if (listing.refs.size === 0 && !repoExists(repo)) {
    listings.delete(key)
    throw new GitError('repo_missing', 'The repository does not exist')
  }
  listings.set(key, listing)
  return listing.refs
}

function isUnmoved(repo: Repo, { packed, folders }: Listing): boolean {
  if (identityOf(packedRefsPath(repo)) !== packed) return false
  for (const [folder, identity] of folders) if (identityOf(join(repo.dir, folder)) !== identity) return false
  return true
}

/** Reads loose refs before packed ones. A ref that is packed during the read is then seen in one of the two. */
function readListing(repo: Repo, prefix: string, known: Listing | undefined): Listing {
  const now = performance.now()
  const folders = new Map<string, string>()
  const loose = new Map<string, Oid>()
  const vanished: string[] = []
  for (const ref of listLooseNames(repo, prefix.replace(/\/$/, ''), folders)) {
    const oid = readListed(repo, ref)
    if (oid) loose.set(ref, oid)
    else vanished.push(ref)
  }
  const packed = readPackedRefs(repo)
  for (const ref of vanished) {
    const oid = readLoose(repo, ref) ?? packed.refs.get(ref)
    if (oid) loose.set(ref, oid)
  }
  const hasStayed = known !== undefined && known.packed === packed.identity && isSame(known.folders, folders)
  const since = hasStayed ? known.since : now
  const isKnown = known !== undefined && known.packed === packed.identity && isSame(known.loose, loose)
  const refs = isKnown ? known.refs : merged(prefix, packed.refs, loose)
  // Two moves within a tick of the file system's clock leave the same time. A listing is settled only if its folders
  // had not changed for longer than that when it was read. Then any later move leaves another time. No two clocks are
  // compared.
  const isSettled = now - since > tickOf([packed.identity, ...folders.values()])
  return { refs, loose, packed: packed.identity, folders, since, isSettled }
}

function merged(prefix: string, packed: ReadonlyMap<string, Oid>, loose: ReadonlyMap<string, Oid>): Map<string, Oid> {
  const found = new Map<string, Oid>()
  for (const [ref, oid] of packed) if (ref.startsWith(prefix)) found.set(ref, oid)
  for (const [ref, oid] of loose) found.set(ref, oid)
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  if (one.size !== other.size) return false
  for (const [name, value] of other) if (one.get(name) !== value) return false
  return true
}

function readLoose(repo: Repo, ref: string): Oid | undefined {
  try {
    // An exception takes ten times as long as this check, and most refs of a large repository are packed.
    if (!statSync(join(repo.dir, ref), { throwIfNoEntry: false })) return undefined
  } catch (error) {
    if (isNoFile(error)) return undefined
    throw error
  }
  return readListed(repo, ref)
}

/** Reads a loose ref that probably exists. */
function readListed(repo: Repo, ref: string): Oid | undefined {
  let text: string
  try {
    text = readStart(join(repo.dir, ref))
  } catch (error) {
    if (isNoFile(error)) return undefined
    throw error
  }
  const oid = text.trimEnd()
  if (!isOid(oid)) throw new GitError('ref_damaged', `${ref} does not hold an object id`, { ref })
  return oid
}

/** Longer than any file of a ref that holds an object id. */
const start = Buffer.alloc(128)

/** Reads the start of a small file, with half the system calls of `readFileSync`. */
function readStart(path: string): string {
  const file = openSync(path, 'r')
  try {
    return start.toString('latin1', 0, readSync(file, start))
  } finally {
    closeSync(file)
  }
}

/** True if a folder with that name contains a loose ref. Locks do not count. */
export function hasLooseBelow(repo: Repo, name: string): boolean {
  return !listLooseNames(repo, name).next().done
}

/** @param seen receives the folders and their identities before they were read */
function* listLooseNames(repo: Repo, folder: string, seen?: Map<string, string>): Generator<string, undefined> {
  let entries: Dirent[]
  seen?.set(folder, identityOf(join(repo.dir, folder)))
  try {
    entries = readdirSync(join(repo.dir, folder), { withFileTypes: true })
  } catch (error) {
    if (isNoFile(error)) return
    throw error
  }
  for (const entry of entries) {
    const name = `${folder}/${entry.name}`
    // Git also does this: names that begin with a dot are temporary files.
    if (entry.name.startsWith('.')) continue
    if (entry.isDirectory()) yield* listLooseNames(repo, name, seen)
    else if (entry.isFile() && !entry.name.endsWith('.lock')) yield name
  }
}
