/**
 * Moves several refs as one: all of them or none, whatever process dies in between.
 *
 * A transaction is a folder `run/<process>/<n>/`: `token` (hard-linked to every lock; it says whose they are and which),
 * one file a move with the new value, and `moves.json`. Locks are git's own `<ref>.lock`, so native git waits or fails too.
 * Moves happen in the order given, the decisive one first: whoever recovers the folder finishes the transaction if that one
 * was made, else undoes it. For that, all of it is durable before the first move, and each move before the next.
 */
import { mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm, unlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allDone, ownTurn, syncDirectory, syncPath, writeSynced } from './durable.ts'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import { removePackedRef } from './packed-refs.ts'
import {
  linkLock,
  lockPath,
  type Ownership,
  parseToken,
  type Recover,
  type RefName,
  readLock,
  removeEmptyFolders,
  removeLock,
  tokenText,
} from './ref-lock.ts'
import { listRefs, readPackedRefs, readRef } from './refs.ts'
import type { Oid } from './repo.ts'
import { repoExists } from './repos.ts'
import type { Store } from './store.ts'
import { refuseSuspect, suspect } from './suspects.ts'

export type { RefName } from './ref-lock.ts'
export type { Store } from './store.ts'

export interface Move extends RefName {
  /** The new value; null deletes the ref. */
  readonly to: Oid | null
}

export interface Decision<T> {
  readonly moves: readonly Move[]
  readonly value: T
  /** Writes the objects that the moves point at, beside the transaction's own files; it is done before the first move. */
  readonly save?: () => Promise<void>
}

/** A ref as it stands under the lock, or null. */
export type Current = (name: RefName) => Oid | null

interface Broken extends Ownership {
  readonly folder: string
}

/** One of `moves.json`. */
interface Plan {
  readonly dir: string
  readonly ref: string
  readonly to: Oid | null
}

/**
 * Locks `names`, lets `decide` read them and say what moves, and makes the moves durable in that order.
 * `decide` may write objects; what it or `save` throws is thrown here, and nothing has moved.
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
  for (const { repo } of names) refuseSuspect(repo)
  const { value, unsynced } = await withLocks(store, names, note, async (folder) => {
    const decision = await decide(({ repo, ref }) => readRef(repo, ref))
    const unsynced = decision.moves.length > 0 ? await commit(store, folder, decision) : undefined
    return { value: decision.value, unsynced }
  })
  // Without the lock: whoever builds on the ref meanwhile syncs the same folder after it.
  if (unsynced) await withFaults(store, [unsynced], () => syncRefFolders(unsynced))
  return value
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
async function recover(store: Store, process: string, met?: Ownership): Promise<void> {
  const home = join(store.run, process)
  const entries = await readdir(home, { withFileTypes: true }).catch(() => [])
  const broken: Broken[] = []
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const folder = join(home, name)
    const ownership = parseToken(readLock(join(folder, 'token')) ?? '')
    if (ownership) broken.push({ ...ownership, folder })
  }
  // A power cut may have taken the folder, whose name nothing syncs, and left the lock.
  if (met && !broken.some(({ transaction }) => transaction === met.transaction))
    broken.push({ ...met, folder: join(home, met.transaction) })
  const noted = broken.filter(({ note }) => note)
  const due = noted.filter(({ folder }) => met === undefined || folder === join(home, met.transaction))
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
  return inTurn(sorted.map(lockPath), () =>
    withFaults(store, sorted, async () => {
      const transaction = String(++transactions)
      const folder = join(store.run, store.process, transaction)
      const token = join(folder, 'token')
      const locks = sorted.map((name) => relative(store.root, lockPath(name)))
      const locked: string[] = []
      await ownTurn()
      try {
        mkdirSync(folder)
        writeFileSync(token, tokenText({ process: store.process, transaction, note, locks }), { flag: 'wx' })
        if (note) await syncPath(token)
        for (const name of sorted) {
          const path = lockPath(name)
          await linkLock(store, recoverFor(store), token, path, name.repo)
          locked.push(path)
        }
        return await work(folder)
      } finally {
        // Half made, it keeps its locks: released now, others would build on some of its moves without the rest.
        if (begun.delete(folder) || !locked.map(removeLock).every(Boolean))
          await putRight(store, { process: store.process, transaction, note, locks, folder })
        else removeFolder(folder)
      }
    }),
  )
}

/** Folders of this process's transactions of several moves, from before the first until after the last. */
const begun = new Set<string>()
/** Milliseconds between two attempts at what the file system has refused. */
const pauses = { shortest: 1_000, longest: 5_000 } as const

/**
 * Finishes or undoes a transaction of this process in which the file system failed, now or, in the background, as soon as
 * it can be done. Nothing of it is acknowledged.
 */
async function putRight(store: Store, broken: Broken): Promise<void> {
  const attempt = () =>
    recoverTransaction(store, broken).then(
      () => true,
      () => false,
    )
  const goOn = async () => {
    for (let pause: number = pauses.shortest; ; pause = Math.min(2 * pause, pauses.longest)) {
      await sleep(pause, undefined, { ref: false })
      if (await attempt()) return
    }
  }
  if (!(await attempt())) void goOn()
}

function recoverFor(store: Store): Recover {
  return (met) => recover(store, met.process, met)
}

const unremoved = new Set<string>()

/** Without locks a transaction's folder means nothing; what cannot be removed now is tried again after the next one. */
function removeFolder(folder: string): void {
  unremoved.add(folder)
  for (const each of unremoved) {
    try {
      for (const name of readdirSync(each)) unlinkSync(join(each, name))
      rmdirSync(each)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return
    }
    unremoved.delete(each)
  }
}

/**
 * Does `work`, which writes to the repositories of `names`. One in which a sync fails is only read from then on.
 *
 * @throws GitError repo_missing, storage_full, storage_readonly, storage_error; else what `work` threw
 */
export async function withFaults<T>(
  store: Store,
  names: readonly Pick<RefName, 'repo'>[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof GitError && error.facts.sync === true)
      for (const { repo } of names) if (suspect(repo)) store.suspected(repo)
    throw codeOf(error) === 'ENOENT' && names.some(({ repo }) => !repoExists(repo))
      ? new GitError('repo_missing', 'The repository was deleted meanwhile')
      : asStorageFault(error)
  }
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

/** @returns a ref that has moved and whose folder is not synced yet, if there is one */
async function commit(store: Store, folder: string, { moves, save }: Decision<unknown>): Promise<RefName | undefined> {
  for (const move of moves) refuseTakenName(move)
  const plans: Plan[] = moves.map(({ repo, ref, to }) => ({ dir: relative(store.root, repo.dir), ref, to }))
  const values = () => plans.flatMap(({ to }, at) => (to ? [writeSynced(join(folder, String(at)), `${to}\n`)] : []))
  const [first] = moves
  if (moves.length === 1 && first?.to) {
    // One rename is whole by itself: there is nothing to finish.
    await allDone([save?.(), ...values()])
    await ownTurn()
    await renameRef(join(folder, '0'), first)
    return first
  }
  // A plan that is there may be carried out by another: its objects come before it.
  await save?.()
  const plan = writeSynced(join(folder, 'moves.json'), JSON.stringify(plans))
  await allDone([...values(), plan, syncPath(join(folder, 'token'))])
  await syncPlan(store, folder, plans)
  begun.add(folder)
  const released = await holdingPackedRefs(store, folder, plans, async () => {
    for (const [at, plan] of plans.entries()) await carryOut(store, folder, at, plan)
  })
  if (released) begun.delete(folder)
  return undefined
}

/** The names by which a transaction is found and finished after a power cut: its folder's and its locks'. */
async function syncPlan(store: Store, folder: string, plans: readonly Plan[]): Promise<void> {
  const folders = [folder, dirname(folder), store.run].map(syncDirectory)
  await allDone([...folders, ...plans.map((plan) => syncRefFolders(nameOf(store, plan)))])
}

/**
 * Holds `packed-refs.lock` wherever `plans` delete a ref, packed or not, until its loose file is gone too: a
 * `git pack-refs` that has read the file would bring the ref back. False where such a lock could not be removed.
 */
async function holdingPackedRefs(
  store: Store,
  folder: string,
  plans: readonly Plan[],
  work: () => Promise<void>,
): Promise<boolean> {
  const dirs = [...new Set(plans.filter(({ to }) => to === null).map(({ dir }) => join(store.root, dir)))].sort()
  const locked: string[] = []
  try {
    for (const dir of dirs) {
      const lock = join(dir, 'packed-refs.lock')
      await linkLock(store, recoverFor(store), join(folder, 'token'), lock, { dir })
      locked.push(lock)
    }
    await work()
  } catch (error) {
    locked.forEach(removeLock)
    throw error
  }
  return locked.map(removeLock).every(Boolean)
}

/** `a` forbids `a/b` and the other way round, packed or loose. */
function refuseTakenName({ repo, ref, to }: Move): void {
  if (to === null || readRef(repo, ref)) return
  const parts = ref.split('/')
  const above = parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join('/'))
  const taken = above.slice(2).find((name) => readRef(repo, name)) ?? [...listRefs(repo, `${ref}/`).keys()][0]
  if (taken) throw new GitError('ref_name_taken', `${taken} stands in the way`, { ref: taken })
}

async function carryOut(store: Store, folder: string, at: number, plan: Plan): Promise<void> {
  const name = nameOf(store, plan)
  if (plan.to === null) return deleteRef(folder, name)
  await renameRef(join(folder, String(at)), name)
  await syncRefFolders(name)
}

function nameOf(store: Store, { dir, ref }: Plan): RefName {
  return { repo: { dir: join(store.root, dir) }, ref }
}

async function renameRef(value: string, { repo, ref }: RefName): Promise<void> {
  const path = join(repo.dir, ref)
  try {
    renameSync(value, path)
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'EISDIR' && code !== 'ENOTEMPTY' && code !== 'ENOTDIR') throw asStorageFault(error)
    await removeEmptyFolders(path)
    try {
      renameSync(value, path)
    } catch {
      throw new GitError('ref_name_taken', `A branch below ${ref} stands in the way`, { ref })
    }
  }
}

/**
 * A ref in a folder of its own, `refs/heads/a/b`: the folders above may be new, and are synced too. One that has gone had
 * nothing left in it after `git pack-refs`: the ref is in packed-refs.
 */
async function syncRefFolders({ repo, ref }: RefName): Promise<void> {
  const parts = ref.split('/')
  for (let depth = parts.length - 1; depth >= Math.min(2, parts.length - 1); depth--) {
    await syncDirectory(join(repo.dir, ...parts.slice(0, depth))).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
      return syncDirectory(repo.dir)
    })
  }
}

/** The caller holds `packed-refs.lock`. */
async function deleteRef(folder: string, { repo, ref }: RefName): Promise<void> {
  if (readPackedRefs(repo).get(ref)) await removePackedRef(repo, ref, join(folder, 'packed-refs'))
  const path = join(repo.dir, ref)
  await unlink(path).catch((error: unknown) => {
    // A folder of that name is what is left of a branch below it.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EISDIR') throw asStorageFault(error)
  })
  await syncDirectory(dirname(path))
}

async function recoverTransaction(store: Store, broken: Broken): Promise<void> {
  const { folder, note, locks } = broken
  const token = tokenText(broken)
  const held = locks.map((lock) => join(store.root, lock)).filter((path) => readLock(path) === token)
  const plans = await readPlans(folder)
  const packed = [...new Set(plans.map(({ dir }) => join(store.root, dir, 'packed-refs.lock')))]
  removeHeld(packed.filter((path) => readLock(path) === token))
  const due = plans.filter((plan) => held.includes(lockPath(nameOf(store, plan))))
  const [first] = plans
  if (first && due.length > 0 && readRef({ dir: join(store.root, first.dir) }, first.ref) === first.to) {
    const released = await holdingPackedRefs(store, folder, due, async () => {
      for (const plan of due) {
        // From the plan, under a name of its own: so it may be done twice, the first move too.
        const at = plans.length + plans.indexOf(plan)
        await rm(join(folder, String(at)), { force: true })
        if (plan.to) await writeSynced(join(folder, String(at)), `${plan.to}\n`)
        await carryOut(store, folder, at, plan)
      }
    })
    if (!released) throw lockStays()
  }
  if (note) await store.recovered(note)
  removeHeld(held)
  await rm(folder, { recursive: true, force: true })
}

/** @throws GitError storage_error where one stays: the folder that says whose it is must stay too */
function removeHeld(paths: readonly string[]): void {
  if (!paths.map(removeLock).every(Boolean)) throw lockStays()
}

function lockStays(): GitError {
  return new GitError('storage_error', 'A lock could not be removed')
}

/** None where the transaction had not come so far as to write them whole. */
async function readPlans(folder: string): Promise<Plan[]> {
  try {
    return JSON.parse(await readFile(join(folder, 'moves.json'), 'utf8')) as Plan[] // written by `prepare` alone
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return []
    throw error
  }
}
