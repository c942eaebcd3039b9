/**
 * Erases words, names and reviewed heads from the whole history of a ledger.
 *
 * The new chain is built before the lock, and its last commits under it. A mark names the old tip before the ref moves.
 * Then exactly the objects that only the old tip reaches are removed. Killed anywhere, the next run finishes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { type Edits, type Rewriting, startRewriting } from '../../../gitstore/history/rewrite.ts'
import { runGitOrThrow } from '../../../gitstore/native.ts'
import { hasObject, readOneOfManyBlobs } from '../../../gitstore/objects/objects.ts'
import { translateStorageErrors, updateRefs, withRefLock } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { forget, listErasing, markErasing, unmarkErasing } from '../../../gitstore/upkeep/forget.ts'
import { findAccountById } from '../../../index/credentials/accounts.ts'
import { AppError } from '../../base/errors.ts'
import { hiddenEmail } from '../format/hidden-emails.ts'
import { entriesFolder, entryFile, pullFile } from '../format/paths.ts'
import { signature } from '../format/signatures.ts'
import { correctBytes } from '../indexing/byte-counts.ts'
import { ledgerIn, maintenanceRef, ownerRepo } from '../layout.ts'
import type { EntryUser, Erased } from '../ledger/entries.ts'
import {
  collectEmails,
  type ErasedPerson,
  eraseEntry,
  eraseIdentity,
  erasePerson,
  erasePull,
} from '../ledger/erased-records.ts'
import { diffLedgers } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { tryIndexOwner } from './conversations.ts'
import { type ErasureTarget, listErased, subjectOf } from './erased-list.ts'

/** The commits that are rewritten while the ledger is locked. */
const mostUnderLock = 50
/** The most rounds. After each the ledger has grown by more than that, or was moved. */
const rounds = 50
/** Files that are read at a time. */
const readsAtOnce = 100

export interface ErasureInput {
  readonly target: ErasureTarget
  readonly by: EntryUser
  readonly reason?: string
  readonly signal: AbortSignal
  /** How long to wait for maintenance of the repository, in milliseconds. */
  readonly patienceMs: number
  /** Checks the caller's rights again, under the lock. */
  readonly recheck?: () => Promise<unknown>
}

export interface ErasureResult {
  /** Commits of the ledger that were rewritten. 0: there was nothing to erase. */
  readonly rewritten: number
  /** Objects that were removed, also those of an erasure that was interrupted. */
  readonly removed: number
  /** Refs that still have the head. Then nothing was erased. */
  readonly heldBy: readonly string[]
}

/**
 * Erases from a ledger, then removes the old objects. May be repeated.
 *
 * @throws AppError busy: the ledger or the repository is in use; repeat it. GitError native_failed, storage_*
 */
export async function eraseFromLedger(deps: Services, at: NodeAt, input: ErasureInput): Promise<ErasureResult> {
  const repo = ownerRepo(deps.store, at.org_id, at.node_id)
  const { target } = input
  const heldBy = 'head' in target ? await refsThatReach(repo, target.head) : []
  if (heldBy.length > 0) return { rewritten: 0, removed: 0, heldBy }
  // The log of events cannot follow commits that it has not recorded before they are rewritten.
  await tryIndexOwner(deps, at)
  const rewritten = await translateStorageErrors(deps.store, [{ repo }], () => rewriteLedger(deps, at, repo, input))
  // This also removes the title of a pull request from its events.
  if (rewritten > 0) await tryIndexOwner(deps, at)
  // Nothing may have kept the head, such as one without comments.
  if ('head' in target && (await hasObject(repo, target.head))) await markErasing(repo, target.head)
  const removed = await finishErasures(deps, repo, input)
  await correctBytes(deps, at.org_id, at.node_id)
  return { rewritten, removed, heldBy }
}

async function rewriteLedger(deps: Services, at: NodeAt, repo: Repo, input: ErasureInput): Promise<number> {
  const { signal } = input
  const edits = await editsFor(deps, repo, input)
  let rewriting = startRewriting(repo, edits)
  let isFresh = true
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted()
    const tip = readLedger(repo)
    if (!tip) throw new AppError('node_not_found', 'Node not found')
    try {
      const built = await rewriting.extend(tip, signal)
      if (built.rewritten === 0) return 0
      await listErased(deps, at, input.target, input.by)
      const moved = await moveLedger(deps, repo, rewriting, { ...input, built: tip })
      if (moved !== undefined) return moved
      isFresh = false
    } catch (error) {
      // Another erasure may have removed what this one was reading.
      if (!isGitError(error, 'object_missing', 'native_failed')) throw error
      if (isFresh && readLedger(repo) === tip) throw error
      rewriting = startRewriting(repo, edits)
      isFresh = true
    }
  }
  throw new AppError('busy', 'The ledger changes faster than it can be rewritten; repeat the erasure')
}

/** Moves the ledger under its lock. Undefined: it has grown too much, or was moved, since it was built. */
async function moveLedger(
  { store, now }: Services,
  repo: Repo,
  rewriting: Rewriting,
  { built, by, target, signal, recheck }: ErasureInput & { readonly built: Oid },
): Promise<number | undefined> {
  const ledger = ledgerIn(repo)
  return updateRefs<number | undefined>(store, [ledger], async (current) => {
    await recheck?.()
    const from = current(ledger)
    if (!from) return { moves: [], value: undefined }
    const fresh = from === built ? 0 : await rewriting.distance(from)
    if (fresh === undefined || fresh > mostUnderLock) return { moves: [], value: undefined }
    const { tip, rewritten } = await rewriting.extend(from, signal)
    const { name, email, timestamp } = signature(by, now())
    const identity = `${name} <${email}> ${timestamp} +0000`
    const message = `${subjectOf(target)}\n\nErased-From: ${from}`
    const to = await rewriting.seal({ tip, identity, message })
    return { moves: [{ ...ledger, to }], value: rewritten, save: () => markErasing(repo, from) }
  })
}

/**
 * Removes the objects of erasures whose ref has moved, also of interrupted ones. Waits for maintenance.
 *
 * @returns how many objects were removed
 * @throws AppError busy; the errors of `forget`
 */
export async function finishErasures(
  { store }: Pick<Services, 'store'>,
  repo: Repo,
  { signal, patienceMs }: Pick<ErasureInput, 'signal' | 'patienceMs'>,
): Promise<number> {
  if ((await listErasing(repo)).length === 0) return 0
  const until = performance.now() + patienceMs
  for (let pause = 50; ; pause = Math.min(2 * pause, 2_000)) {
    try {
      return await withRefLock(store, { repo, ref: maintenanceRef }, '', async () => {
        const tips = await listMoved(store, repo)
        const removed = await forget(repo, tips, [ledgerIn(repo).ref], signal)
        for (const tip of tips) await unmarkErasing(repo, tip)
        return removed
      })
    } catch (error) {
      if (!isGitError(error, 'busy') || performance.now() > until) throw error
      await sleep(pause, undefined, { signal })
    }
  }
}

/** Removes marks of moves that have not happened. Returns the tips of the others. */
async function listMoved(store: Services['store'], repo: Repo): Promise<Oid[]> {
  const moved: Oid[] = []
  for (const tip of await listErasing(repo)) {
    if (readLedger(repo) !== tip) moved.push(tip)
    // The move has not happened yet, or its process has died. Nobody who is about to move holds this lock.
    else
      await withRefLock(store, ledgerIn(repo), '', async () => {
        if (readLedger(repo) === tip) await unmarkErasing(repo, tip)
      })
  }
  return moved
}

function readLedger(repo: Repo): Oid | null {
  return readRef(repo, ledgerIn(repo).ref)
}

async function editsFor(deps: Services, repo: Repo, { target, by, reason, signal }: ErasureInput): Promise<Edits> {
  const stamp: Erased = { by, at: deps.now().toISOString(), ...(reason !== undefined && { reason }) }
  if ('person' in target) return editsOfPerson(await findPerson(deps, repo, target.person))
  if ('head' in target) return editsOfHead(repo, target.head, signal)
  const { number } = target
  if ('entry' in target) {
    const file = entryFile(number, target.entry)
    return {
      touches: (path, isFolder) => path === file || (isFolder && file.startsWith(`${path}/`)),
      file: (_, content) => eraseEntry(content, stamp),
    }
  }
  const [record, folder] = [pullFile(number), `${entriesFolder(number)}/`]
  return {
    touches: (path, isFolder) =>
      isFolder
        ? record.startsWith(`${path}/`) || folder.startsWith(`${path}/`) || path.startsWith(folder)
        : path === record || path.startsWith(folder),
    file: (path, content) => (path === record ? erasePull(content, stamp) : eraseEntry(content, stamp)),
  }
}

function editsOfPerson(person: ErasedPerson): Edits {
  return {
    touches: (path, isFolder) => (isFolder ? /^(pulls|reviews|checks)(\/|$)/.test(path) : path.endsWith('.json')),
    file: (_, content) => erasePerson(content, person),
    signature: (identity) => eraseIdentity(identity, person),
  }
}

/** Collects the e-mail addresses of a user. Reads the account, and all entries and pull requests. */
async function findPerson({ credentials }: Services, repo: Repo, id: string): Promise<ErasedPerson> {
  const emails = new Set([hiddenEmail(id)])
  const account = await findAccountById(credentials.read, id)
  if (account) emails.add(account.email.toLowerCase())
  const ledger = readLedger(repo)
  const { changes } = ledger ? await diffLedgers(repo, null, ledger) : { changes: [] }
  const blobs = changes.flatMap(({ path, new: file }) => (file && path.includes('/') ? [file.oid] : []))
  for (let at = 0; at < blobs.length; at += readsAtOnce) {
    const some = blobs.slice(at, at + readsAtOnce).map((oid) => readOneOfManyBlobs(repo, oid))
    for (const content of await Promise.all(some)) collectEmails(content, id, emails)
  }
  return { id, emails }
}

const unchanged: Edits = { touches: () => false, file: (_, content) => content }

/** Drops the second parents that are the head or have it in their history. */
async function editsOfHead(repo: Repo, head: Oid, signal: AbortSignal): Promise<Edits> {
  const options = { signal, timeoutMs: 10 * 60_000 }
  const listed = await runGitOrThrow(repo, ['rev-list', '--first-parent', '--parents', ledgerIn(repo).ref], options)
  const chain = listed
    .toString('latin1')
    .split('\n')
    .map((line) => line.split(' '))
  if (chain.some(([commit]) => commit === head))
    throw new AppError('commit_not_found', `${head} is a commit of the ledger itself; name a head that was reviewed`)
  const kept = new Set(chain.flatMap((commits) => commits.slice(2)))
  // It was erased before, so nothing has it in its history.
  if (!(await hasObject(repo, head))) return unchanged
  const input = Buffer.from([...kept, `^${head}`, ''].join('\n'))
  const args = ['rev-list', '--ancestry-path', '--stdin']
  const above = kept.size > 0 ? await runGitOrThrow(repo, args, { ...options, input }) : Buffer.alloc(0)
  const descendants = new Set(above.toString('latin1').split('\n'))
  return {
    ...unchanged,
    dropsParent: (commit) => commit === head || descendants.has(commit),
  }
}

/** The most refs that are named. */
const namedRefs = 20

/** Lists refs, other than the ledger, whose history has the commit, if it exists. */
async function refsThatReach(repo: Repo, commit: Oid): Promise<string[]> {
  if (!(await hasObject(repo, commit))) return []
  const args = ['for-each-ref', `--count=${namedRefs}`, '--format=%(refname)', '--contains', commit]
  const out = await runGitOrThrow(repo, args, { timeoutMs: 10 * 60_000 })
  return out
    .toString()
    .split('\n')
    .filter((ref) => ref !== '' && ref !== ledgerIn(repo).ref)
}
