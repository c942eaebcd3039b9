/**
 * Moves several refs atomically. Either all refs move or none, even if a process dies in between.
 *
 * A transaction is a folder `run/<process>/<n>/`. It holds `token`, one file per move with the new value, and
 * `moves.json`. The token names the owner and the locks, and is hard-linked to every lock. Locks are Git's own
 * `<ref>.lock`, so native Git also waits or fails. Moves happen in the order given, the decisive one first. Recovery
 * finishes the transaction if that move was made, and otherwise undoes it. The plan is durable before the first move,
 * the first move before the second, and all others before the last (ref-plan.ts).
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKeyedMutex } from '../concurrency/keyed-mutex.ts'
import { allDone, syncPath, takeSyncTurn } from '../durable.ts'
import { asStorageError, codeOf, GitError, type GitErrorCode, isGitError } from '../errors.ts'
import type { Oid, Repo } from '../repo.ts'
import { repoExists } from '../repo-folders.ts'
import type { Store, TransactionOutcome, TransactionPhase } from '../store.ts'
import { markReadOnly, refuseReadOnly } from './read-only.ts'
import { encodeOwner, linkLock, lockPath, ownerPath, type RefName, removeLock, secondsSince } from './ref-lock.ts'
import {
  executePlan,
  type Move,
  namesAbove,
  refuseNameConflicts,
  renameRef,
  syncRefFolders,
  withPackedRefsLock,
  writePlan,
  writeValues,
} from './ref-plan.ts'
import { recoverFor, recoverTransaction, repositoryOf, type UnfinishedTransaction } from './ref-recovery.ts'
import { readRef } from './refs.ts'
import { keepIntentUntilIndexed, removeFolder } from './unindexed-moves.ts'

export type { Store } from '../store.ts'
export type { RefName } from './ref-lock.ts'
export type { Move } from './ref-plan.ts'
export { recoverAll } from './ref-recovery.ts'

export interface Decision<T> {
  readonly moves: readonly Move[]
  readonly value: T
  /**
   * Writes the objects that the moves point at, before the first move. Runs concurrently with the writes of the
   * transaction's files.
   */
  readonly save?: () => Promise<void>
}

/** Returns the value of a ref under the lock, or null. */
export type Current = (name: RefName) => Oid | null

/**
 * Locks `names`, calls `decide`, and makes its moves durable in their order. `decide` reads the refs under their locks
 * and may write objects. If it or `save` throws, this throws, and no ref has moved. Takes about 2 ms a ref, mostly for
 * syncs. If this process dies in between, recovery passes `note` to `store.onRecovered`.
 *
 * @throws GitError busy, repo_missing, ref_name_taken, storage_full, storage_readonly, storage_error
 */
export async function updateRefs<T>(
  store: Store,
  names: readonly RefName[],
  decide: (current: Current) => Promise<Decision<T>>,
  note = '',
): Promise<T> {
  try {
    for (const { repo } of names) refuseReadOnly(repo)
    const began = performance.now()
    let moves: readonly Move[] = []
    const { value, unsynced } = await withLocks(
      store,
      [...names, ...aboveNew(names)],
      note,
      async (folder, locked) => {
        store.observer?.phase('lock', secondsSince(began))
        const current = readerOf(locked)
        const decision = await timed(store, 'decide', () => decide(current))
        const unsynced =
          decision.moves.length > 0 ? await commit(store, folder, { locked, current }, decision) : undefined
        moves = decision.moves
        return { value: decision.value, unsynced }
      },
      (folder) =>
        moves.length > 0
          ? keepIntentUntilIndexed(
              folder,
              moves.map(({ repo }) => repo),
            )
          : removeFolder(folder),
    )
    // The lock is already released here: a writer that builds on the ref syncs the same folder later.
    if (unsynced)
      await timed(store, 'sync', () => translateStorageErrors(store, [unsynced], () => syncRefFolders([unsynced])))
    if (unsynced) await requireFence(store, names)
    store.observer?.ended(moves.length > 0 ? 'moved' : 'nothing')
    return value
  } catch (error) {
    store.observer?.ended(failedOutcome(error))
    throw error
  }
}

/** Reads locked refs once, because nobody else moves them. Reads other refs each time. */
function readerOf(locked: readonly string[]): Current {
  const held = new Set(locked)
  const known = new Map<string, Oid | null>()
  return ({ repo, ref }) => {
    const lock = lockPath({ repo, ref })
    const oid = known.get(lock)
    if (oid !== undefined) return oid
    const found = readRef(repo, ref)
    if (held.has(lock)) known.set(lock, found)
    return found
  }
}

async function timed<T>({ observer }: Store, phase: TransactionPhase, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const result = await work()
  observer?.phase(phase, secondsSince(began))
  return result
}

const ruleCodes: readonly GitErrorCode[] = [
  'ref_moved',
  'ref_name_taken',
  'repo_missing',
  'merge_conflict',
  'path_conflict',
]

/** Maps an error to an outcome. Errors that this folder does not throw are refusals of the caller's `decide`. */
function failedOutcome(error: unknown): TransactionOutcome {
  if (isGitError(error, 'busy')) return 'busy'
  return error instanceof GitError && !ruleCodes.includes(error.code) ? 'fault' : 'refused'
}

/** A lock, and the ref that needs it if that is a different one. */
interface WantedLock extends RefName {
  readonly forRef?: string
}

/** The names above new refs. A writer of `a/b` locks them to exclude a writer of `a`. */
function aboveNew(names: readonly RefName[]): WantedLock[] {
  return names.flatMap(({ repo, ref }) => {
    const above = namesAbove(ref)
    return above.length === 0 || readRef(repo, ref) ? [] : above.map((name) => ({ repo, ref: name, forRef: ref }))
  })
}

/** Keeps `name` locked, without moving it, while `work` runs. */
export async function withRefLock<T>(store: Store, name: RefName, note: string, work: () => Promise<T>): Promise<T> {
  return withLocks(store, [name], note, work)
}

/**
 * Runs `work`, which makes, moves or removes repositories of `folder`, directly below the root. If this process dies in
 * between, recovery passes on the note, which names the folder.
 */
export async function withRepoIntent<T>(
  store: Store,
  folder: string,
  note: string,
  work: () => Promise<T>,
): Promise<T> {
  return withLocks(store, [], note, work, removeFolder, [folder])
}

let transactions = 0
/** Lets writers of this process wait for the same lock. This is fairer and cheaper than polling. */
const mutex = createKeyedMutex()

/** Locks that are linked or removed between two turns of the event loop. */
const locksPerTurn = 200

async function withLocks<T>(
  store: Store,
  names: readonly WantedLock[],
  note: string,
  work: (folder: string, locked: readonly string[]) => Promise<T>,
  leave: (folder: string) => void = removeFolder,
  folders: readonly string[] = foldersOf(store, names),
): Promise<T> {
  store.fence?.before()
  const wanted = new Map<string, WantedLock>()
  for (const name of names) if (!wanted.has(lockPath(name))) wanted.set(lockPath(name), name)
  const sorted = [...wanted].sort(([a], [b]) => (a < b ? -1 : 1))
  const paths = sorted.map(([path]) => path)
  const result = await mutex.run(paths, () =>
    translateStorageErrors(store, names, async () => {
      const transaction = String(++transactions)
      const folder = join(store.run, store.process, transaction)
      const token = ownerPath(folder)
      const locks = paths.map((path) => relative(store.root, path))
      const locked: string[] = []
      await takeSyncTurn()
      try {
        mkdirSync(folder)
        writeFileSync(token, encodeOwner({ process: store.process, transaction, note, locks }), { flag: 'wx' })
        store.fence?.enter(folders)
        if (note && locks.length > 0) await syncPath(token)
        for (const [path, { repo, ref, forRef = ref }] of sorted) {
          await linkLock(store, recoverFor(store), token, path, repo).catch(withRefName(forRef))
          if (locked.push(path) % locksPerTurn === 0) await takeSyncTurn()
        }
        return await work(folder, locked)
      } finally {
        // A half-made transaction keeps its locks. Otherwise another writer would build on some of its moves without
        // the rest.
        if (halfMade.delete(folder) || !locked.map(removeLock).every(Boolean))
          await recoverOwn(store, { process: store.process, transaction, note, locks, folder })
        else leave(folder)
      }
    }),
  )
  await requireFence(store, names)
  return result
}

/**
 * Asks the fence after the moves are durable. A move that it refuses is not acknowledged. It is still indexed, because
 * this process reads it until it is lost. The sweep indexes repositories that cannot be indexed now.
 *
 * @throws the error of the fence, if this process may no longer write
 */
async function requireFence(store: Store, names: readonly { readonly repo: Repo }[]): Promise<void> {
  try {
    store.fence?.after()
  } catch (error) {
    const repos = new Map(names.map(({ repo }) => [repo.dir, repo]))
    for (const repo of repos.values()) await store.indexRepo(repo).catch(() => {})
    throw error
  }
}

/** The folders directly below the root that contain the repositories. */
function foldersOf({ root }: Store, names: readonly WantedLock[]): string[] {
  return [...new Set(names.map(({ repo }) => relative(root, repo.dir).split(sep, 1)[0] ?? ''))]
}

/** Rethrows the fault of a lock with the ref that needs the lock. */
function withRefName(ref: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof GitError)) throw error
    throw new GitError(error.code, error.message, { ...error.facts, ref }, { cause: error.cause })
  }
}

/** Folders of half-made transactions: from before the first of several moves until after the last. */
const halfMade = new Set<string>()
/** Delays between two attempts after a fault of the file system. */
const retryDelaysMs = { shortest: 1_000, longest: 5_000 } as const

/**
 * Finishes or undoes a transaction of this process in which the file system failed. Continues in the background if that
 * fails, until it succeeds. No part of the transaction is acknowledged.
 */
async function recoverOwn(store: Store, broken: UnfinishedTransaction): Promise<void> {
  const repos = broken.locks.flatMap((lock) => repositoryOf(store, lock) ?? [])
  const attempt = () =>
    recoverTransaction(store, broken).then(
      () => {
        keepIntentUntilIndexed(broken.folder, repos)
        return true
      },
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

/**
 * Runs `work`, which writes to the repositories of `names`. A repository in which a sync fails becomes read-only.
 *
 * @throws GitError repo_missing, storage_full, storage_readonly, storage_error
 * @throws any other error of `work`
 */
export async function translateStorageErrors<T>(
  store: Store,
  names: readonly Pick<RefName, 'repo'>[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof GitError && error.facts.sync === true)
      for (const { repo } of names) if (markReadOnly(repo)) store.onReadOnly(repo)
    throw codeOf(error) === 'ENOENT' && names.some(({ repo }) => !repoExists(repo))
      ? new GitError('repo_missing', 'The repository was deleted in the meantime')
      : asStorageError(error)
  }
}

/** @returns a ref that has moved but whose folder is not synced yet */
async function commit(
  store: Store,
  folder: string,
  { locked, current }: { readonly locked: readonly string[]; readonly current: Current },
  { moves, save }: Decision<unknown>,
): Promise<RefName | undefined> {
  await refuseNameConflicts(moves, locked, current)
  const steps = moves.map((move, at) => ({ ...move, value: join(folder, String(at)) }))
  const [first] = steps
  if (steps.length === 1 && first?.to) {
    // One rename is atomic, so there is nothing to finish.
    await timed(store, 'save', () => allDone([save?.(), writeValues(steps)]))
    await timed(store, 'commit', () => renameRef(first))
    return first
  }
  // Another process may execute a plan as soon as it exists, so its objects come first.
  await timed(store, 'save', async () => {
    await save?.()
    await writePlan(store, folder, steps)
  })
  halfMade.add(folder)
  const token = ownerPath(folder)
  const released = await timed(store, 'commit', () =>
    withPackedRefsLock(store, recoverFor(store), token, moves, () => executePlan(folder, steps)),
  )
  if (released) halfMade.delete(folder)
  return undefined
}
