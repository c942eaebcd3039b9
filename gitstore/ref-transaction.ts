/**
 * Moves several refs as one: all of them or none, whatever process dies in between.
 *
 * A transaction is a folder `run/<process>/<n>/`: `token` (hard-linked to every lock), `locks.json` (what may be locked),
 * one file a move with the new value, and `moves.json`. Locks are git's own `<ref>.lock`, so native git waits or fails too.
 * Moves happen in the order given, the decisive one first: its value file leaves the folder by the rename that makes it
 * the ref, and by that sign whoever recovers the folder finishes the transaction, else undoes it.
 */
import { mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { syncDirectory } from './durable.ts'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import { removePackedRef } from './packed-refs.ts'
import { exists, linkLock, lockPath, type RefName, readLock, removeEmptyFolders } from './ref-lock.ts'
import { listRefs, readPackedRefs, readRef } from './refs.ts'
import type { Oid, Repo } from './repo.ts'
import { repoExists } from './repos.ts'
import type { Store } from './store.ts'

export type { RefName } from './ref-lock.ts'
export type { Store } from './store.ts'

export interface Move extends RefName {
  /** The new value; null deletes the ref. */
  readonly to: Oid | null
}

export interface Decision<T> {
  readonly moves: readonly Move[]
  readonly value: T
}

/** A ref as it stands under the lock, or null. */
export type Current = (name: RefName) => Oid | null

/** `locks.json`. */
interface Intent {
  readonly note: string
  /** Paths below the root. */
  readonly locks: readonly string[]
}

interface Broken extends Intent {
  readonly folder: string
  readonly token: string
}

/** One of `moves.json`. */
interface Plan {
  readonly dir: string
  readonly ref: string
  readonly to: Oid | null
}

/**
 * Locks `names`, lets `decide` read them and say what moves, and makes the moves durable in that order.
 * `decide` may write objects; what it throws is thrown here, and nothing has moved.
 * About 2 ms a ref, most of it syncs. `note` is handed to `store.recovered` should this process die in between.
 *
 * @throws GitError busy, repo_missing, ref_name_taken, storage_full, storage_readonly, storage_error
 */
export async function transact<T>(
  store: Store,
  names: readonly RefName[],
  decide: (current: Current) => Promise<Decision<T>>,
  note = '',
): Promise<T> {
  return withLocks(store, names, note, async (folder) => {
    const { moves, value } = await decide(({ repo, ref }) => readRef(repo, ref))
    if (moves.length > 0) await commit(store, folder, moves)
    return value
  })
}

/** Keeps `name` locked, without moving it, while `work` runs. */
export async function holding<T>(store: Store, name: RefName, note: string, work: () => Promise<T>): Promise<T> {
  return withLocks(store, [name], note, work)
}

/**
 * Finishes or undoes the transactions of a process that is dead; the caller holds the capability of `store.takeOver`.
 * Those with a note come last: whoever is told may need the refs that the others lock. With `met`, the one whose lock is
 * in the way, other notes are left to those who need what they lock: told from here, `store.recovered` might wait for
 * the very transaction that waits for this. Repeatable: it may die itself anywhere.
 *
 * @throws what the first that failed threw; it kept no other from its recovery
 */
async function recover(store: Store, process: string, met?: string): Promise<void> {
  const home = join(store.run, process)
  const entries = await readdir(home, { withFileTypes: true }).catch(() => [])
  const broken: Broken[] = []
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const intent = await readWhole<Intent>(join(home, name, 'locks.json'))
    if (intent) broken.push({ ...intent, folder: join(home, name), token: `grove ${process}/${name}\n` })
  }
  const noted = broken.filter(({ note }) => note)
  const due = noted.filter(({ folder }) => met === undefined || folder === join(home, met))
  const failures: unknown[] = []
  for (const transaction of [...broken.filter(({ note }) => !note), ...due])
    await recoverTransaction(store, transaction).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
  // Again, should another who asks after this process make a file in it just now.
  if (due.length === noted.length) await rm(home, { recursive: true, force: true, maxRetries: 3 })
}

/** Recovers after every dead process whose folder is left below `run`; `onFailure` is told of each where that failed. */
export async function recoverAll(store: Store, onFailure: (error: unknown) => void): Promise<void> {
  for (const process of await readdir(store.run).catch(() => [])) {
    const claim = process === store.process ? undefined : store.takeOver(process)
    if (!claim) continue
    await recover(store, process)
      .catch(onFailure)
      .finally(() => claim.release())
  }
}

let transactions = 0
const queues = new Map<string, Promise<unknown>>()

async function withLocks<T>(
  store: Store,
  names: readonly RefName[],
  note: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const sorted = [...names].sort((a, b) => (lockPath(a) < lockPath(b) ? -1 : 1))
  return inTurn(sorted.map(lockPath), async () => {
    const transaction = String(++transactions)
    const folder = join(store.run, store.process, transaction)
    const token = `grove ${store.process}/${transaction}\n`
    const locked: string[] = []
    try {
      await mkdir(folder)
      await Promise.all([
        writeWhole(join(folder, 'locks.json'), {
          note,
          locks: sorted.map((name) => relative(store.root, lockPath(name))),
        }),
        writeWhole(join(folder, 'token'), token),
      ])
      for (const name of sorted) {
        const path = lockPath(name)
        await linkLock(store, (process, met) => recover(store, process, met), join(folder, 'token'), path, name.repo)
        locked.push(path)
      }
      return await work(folder)
    } catch (error) {
      throw codeOf(error) === 'ENOENT' && sorted.some(({ repo }) => !repoExists(repo))
        ? new GitError('repo_missing', 'The repository was deleted meanwhile')
        : asStorageFault(error)
    } finally {
      for (const path of locked) await unlink(path).catch(() => undefined)
      // Off the path: without locks the folder means nothing.
      void rm(folder, { recursive: true, force: true }).catch(() => undefined)
    }
  })
}

/** Runs `work` when all who asked earlier in this process for one of `keys` are done: fairer than polling, and cheaper. */
async function inTurn<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  const before = Promise.allSettled(keys.map((key) => queues.get(key)))
  const mine = before.then(work)
  const settled = mine.catch(() => undefined)
  for (const key of keys) queues.set(key, settled)
  void settled.then(() => {
    for (const key of keys) if (queues.get(key) === settled) queues.delete(key)
  })
  return mine
}

async function commit(store: Store, folder: string, moves: readonly Move[]): Promise<void> {
  for (const move of moves) refuseTakenName(move)
  const plans: Plan[] = moves.map(({ repo, ref, to }) => ({ dir: relative(store.root, repo.dir), ref, to }))
  await Promise.all(moves.map((move, at) => writeSyncedFile(join(folder, String(at)), `${move.to ?? ''}\n`)))
  // After the values: a plan whose first value is not there says that the first move was made.
  // One rename is whole by itself: there is nothing to finish.
  if (plans.length > 1 || !plans[0]?.to) await writeWhole(join(folder, 'moves.json'), plans)
  await holdingPackedRefs(store, folder, plans, async () => {
    for (const [at, plan] of plans.entries()) await carryOut(store, folder, at, plan)
  })
}

/**
 * Holds `packed-refs.lock` wherever `plans` delete a ref, packed or not, until its loose file is gone too: a
 * `git pack-refs` that has read the file would bring the ref back.
 */
async function holdingPackedRefs(
  store: Store,
  folder: string,
  plans: readonly Plan[],
  work: () => Promise<void>,
): Promise<void> {
  const dirs = [...new Set(plans.filter(({ to }) => to === null).map(({ dir }) => join(store.root, dir)))].sort()
  const locked: string[] = []
  try {
    for (const dir of dirs) {
      const lock = join(dir, 'packed-refs.lock')
      await linkLock(store, (process, met) => recover(store, process, met), join(folder, 'token'), lock, { dir })
      locked.push(lock)
    }
    await work()
  } finally {
    for (const path of locked) await unlink(path).catch(() => undefined)
  }
}

/** `a` forbids `a/b` and the other way round, packed or loose. */
function refuseTakenName({ repo, ref, to }: Move): void {
  if (to === null || readRef(repo, ref)) return
  const parts = ref.split('/')
  const above = parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join('/'))
  const taken = above.slice(2).find((name) => readRef(repo, name)) ?? [...listRefs(repo, `${ref}/`).keys()][0]
  if (taken) throw new GitError('ref_name_taken', `${taken} stands in the way`, { ref: taken })
}

async function carryOut(store: Store, folder: string, at: number, { dir, ref, to }: Plan): Promise<void> {
  const repo: Repo = { dir: join(store.root, dir) }
  const path = join(repo.dir, ref)
  const value = join(folder, String(at))
  if (to === null) {
    // First, since this is what says that the move was decided; a deletion can be done twice.
    await rm(value, { force: true })
    await deleteRef(folder, repo, ref)
    return
  }
  try {
    await rename(value, path)
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'EISDIR' && code !== 'ENOTEMPTY' && code !== 'ENOTDIR') throw asStorageFault(error)
    await removeEmptyFolders(path)
    await rename(value, path).catch(() => {
      throw new GitError('ref_name_taken', `A branch below ${ref} stands in the way`, { ref })
    })
  }
  await syncRefFolders(repo, ref)
}

/** A ref in a folder of its own, `refs/heads/a/b`: the folders above may be new, and are synced too. */
async function syncRefFolders(repo: Repo, ref: string): Promise<void> {
  const parts = ref.split('/')
  for (let depth = parts.length - 1; depth >= Math.min(2, parts.length - 1); depth--) {
    await syncDirectory(join(repo.dir, ...parts.slice(0, depth)))
  }
}

/** The caller holds `packed-refs.lock`. */
async function deleteRef(folder: string, repo: Repo, ref: string): Promise<void> {
  if (readPackedRefs(repo).get(ref)) await removePackedRef(repo, ref, join(folder, 'packed-refs'))
  const path = join(repo.dir, ref)
  await unlink(path).catch((error: unknown) => {
    // A folder of that name is what is left of a branch below it.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EISDIR') throw asStorageFault(error)
  })
  await syncDirectory(dirname(path))
}

async function recoverTransaction(store: Store, { folder, token, note, locks }: Broken): Promise<void> {
  const held: string[] = []
  for (const lock of locks) {
    const path = join(store.root, lock)
    if ((await readLock(path)) === token) held.push(path)
  }
  const plans = await readWhole<Plan[]>(join(folder, 'moves.json'))
  for (const { dir } of plans ?? []) {
    const packed = join(store.root, dir, 'packed-refs.lock')
    if ((await readLock(packed)) === token) await unlink(packed)
  }
  if (plans && plans.length > 0 && !(await exists(join(folder, '0')))) {
    await holdingPackedRefs(store, folder, plans, async () => {
      for (const [at, plan] of plans.entries()) {
        const due = plan.to === null || (await exists(join(folder, String(at))))
        if (due && held.includes(join(store.root, `${plan.dir}/${plan.ref}.lock`)))
          await carryOut(store, folder, at, plan)
      }
    })
  }
  if (note) await store.recovered(note)
  for (const path of held) await unlink(path).catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
}

/** A file that is there whole or not at all after a kill; what a power cut leaves of it is read as absent. */
async function writeWhole(path: string, content: unknown): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o644)
  try {
    await file.writeFile(typeof content === 'string' ? content : JSON.stringify(content))
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

async function readWhole<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T // written by writeWhole alone
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function writeSyncedFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o644)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
