/**
 * Moves several refs as one: all of them or none, whatever process dies in between.
 *
 * A transaction is a folder `run/<process>/<n>/`: `token` (hard-linked to every lock; it says whose they are and which),
 * one file a move with the new value, and `moves.json`. Locks are git's own `<ref>.lock`, so native git waits or fails too.
 * Moves happen in the order given, the decisive one first: whoever recovers the folder finishes the transaction if that one
 * was made, else undoes it. For that, all of it is durable before the first move, that one before the second, and all others
 * before the last (ref-plan.ts).
 */
import { mkdirSync, readdirSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allDone, ownTurn, syncPath } from '../durable.ts'
import { asStorageFault, codeOf, GitError } from '../errors.ts'
import type { Oid } from '../repo.ts'
import { repoExists } from '../repos.ts'
import type { Store } from '../store.ts'
import { markReadOnly, refuseReadOnly } from './read-only.ts'
import { linkLock, lockPath, type RefName, removeLock, tokenText } from './ref-lock.ts'
import {
  carryOut,
  holdingPackedRefs,
  type Move,
  namesAbove,
  refuseTakenNames,
  renameRef,
  syncRefFolders,
  writePlan,
  writeValues,
} from './ref-plan.ts'
import { recoverFor, recoverTransaction, type UnfinishedTransaction } from './ref-recovery.ts'
import { readRef } from './refs.ts'

export type { Store } from '../store.ts'
export type { RefName } from './ref-lock.ts'
export type { Move } from './ref-plan.ts'
export { recoverAll } from './ref-recovery.ts'

export interface Decision<T> {
  readonly moves: readonly Move[]
  readonly value: T
  /** Writes the objects that the moves point at, beside the transaction's own files; it is done before the first move. */
  readonly save?: () => Promise<void>
}

/** A ref as it stands under the lock, or null. */
export type Current = (name: RefName) => Oid | null

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
  for (const { repo } of names) refuseReadOnly(repo)
  const { value, unsynced } = await withLocks(store, [...names, ...aboveNew(names)], note, async (folder, locked) => {
    const decision = await decide(({ repo, ref }) => readRef(repo, ref))
    const unsynced = decision.moves.length > 0 ? await commit(store, folder, locked, decision) : undefined
    return { value: decision.value, unsynced }
  })
  // Without the lock: whoever builds on the ref meanwhile syncs the same folder after it.
  if (unsynced) await withFaults(store, [unsynced], () => syncRefFolders([unsynced]))
  return value
}

/** A lock, and the ref that it is taken for where that is another one. */
interface WantedLock extends RefName {
  readonly forRef?: string
}

/** The names above refs that are new: who makes `a/b` excludes who makes `a`. */
function aboveNew(names: readonly RefName[]): WantedLock[] {
  return names.flatMap(({ repo, ref }) => {
    const above = namesAbove(ref)
    return above.length === 0 || readRef(repo, ref) ? [] : above.map((name) => ({ repo, ref: name, forRef: ref }))
  })
}

/** Keeps `name` locked, without moving it, while `work` runs. */
export async function holding<T>(store: Store, name: RefName, note: string, work: () => Promise<T>): Promise<T> {
  return withLocks(store, [name], note, work)
}

let transactions = 0
const queues = new Map<string, Promise<unknown>>()

/** Locks that are linked or removed between two turns of the event loop. */
const locksPerTurn = 200

async function withLocks<T>(
  store: Store,
  names: readonly WantedLock[],
  note: string,
  work: (folder: string, locked: readonly string[]) => Promise<T>,
): Promise<T> {
  const wanted = new Map<string, WantedLock>()
  for (const name of names) if (!wanted.has(lockPath(name))) wanted.set(lockPath(name), name)
  const sorted = [...wanted].sort(([a], [b]) => (a < b ? -1 : 1))
  const paths = sorted.map(([path]) => path)
  return queued(paths, () =>
    withFaults(store, names, async () => {
      const transaction = String(++transactions)
      const folder = join(store.run, store.process, transaction)
      const token = join(folder, 'token')
      const locks = paths.map((path) => relative(store.root, path))
      const locked: string[] = []
      await ownTurn()
      try {
        mkdirSync(folder)
        writeFileSync(token, tokenText({ process: store.process, transaction, note, locks }), { flag: 'wx' })
        if (note) await syncPath(token)
        for (const [path, { repo, ref, forRef = ref }] of sorted) {
          await linkLock(store, recoverFor(store), token, path, repo).catch(withRefName(forRef))
          if (locked.push(path) % locksPerTurn === 0) await ownTurn()
        }
        return await work(folder, locked)
      } finally {
        // Half made, it keeps its locks: released now, others would build on some of its moves without the rest.
        if (halfMade.delete(folder) || !locked.map(removeLock).every(Boolean))
          await recoverOwn(store, { process: store.process, transaction, note, locks, folder })
        else removeFolder(folder)
      }
    }),
  )
}

/** Throws again what a lock was refused with, with the name of the ref that it was needed for. */
function withRefName(ref: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof GitError)) throw error
    throw new GitError(error.code, error.message, { ...error.facts, ref }, { cause: error.cause })
  }
}

/** Folders of this process's transactions of several moves, from before the first until after the last. */
const halfMade = new Set<string>()
/** Milliseconds between two attempts at what the file system has refused. */
const retryDelaysMs = { shortest: 1_000, longest: 5_000 } as const

/**
 * Finishes or undoes a transaction of this process in which the file system failed, now or, in the background, as soon as
 * it can be done. Nothing of it is acknowledged.
 */
async function recoverOwn(store: Store, broken: UnfinishedTransaction): Promise<void> {
  const attempt = () =>
    recoverTransaction(store, broken).then(
      () => true,
      () => false,
    )
  const goOn = async () => {
    for (let pause: number = retryDelaysMs.shortest; ; pause = Math.min(2 * pause, retryDelaysMs.longest)) {
      await sleep(pause, undefined, { ref: false })
      if (await attempt()) return
    }
  }
  if (!(await attempt())) void goOn()
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
      for (const { repo } of names) if (markReadOnly(repo)) store.becameReadOnly(repo)
    throw codeOf(error) === 'ENOENT' && names.some(({ repo }) => !repoExists(repo))
      ? new GitError('repo_missing', 'The repository was deleted meanwhile')
      : asStorageFault(error)
  }
}

/** Runs `work` when all who asked earlier in this process for one of `keys` are done: fairer than polling, and cheaper. */
async function queued<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
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
async function commit(
  store: Store,
  folder: string,
  locked: readonly string[],
  { moves, save }: Decision<unknown>,
): Promise<RefName | undefined> {
  await refuseTakenNames(moves, locked)
  const steps = moves.map((move, at) => ({ ...move, value: join(folder, String(at)) }))
  const [first] = steps
  if (steps.length === 1 && first?.to) {
    // One rename is whole by itself: there is nothing to finish.
    await allDone([save?.(), writeValues(steps)])
    await ownTurn()
    await renameRef(first)
    return first
  }
  // A plan that is there may be carried out by another: its objects come before it.
  await save?.()
  await writePlan(store, folder, steps)
  halfMade.add(folder)
  const token = join(folder, 'token')
  const released = await holdingPackedRefs(store, recoverFor(store), token, moves, () => carryOut(folder, steps))
  if (released) halfMade.delete(folder)
  return undefined
}
