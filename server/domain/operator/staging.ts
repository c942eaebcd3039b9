/** Copies mirrors to a staging folder. It takes one per id, and only with its organisation. */

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { v7 as newId } from 'uuid'
import { allDone } from '../../../gitstore/durable.ts'
import { codeOf, GitError, isStorageError } from '../../../gitstore/errors.ts'
import { findDamage } from '../../../gitstore/objects/fsck.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import { createMirror } from '../../../gitstore/transfer/mirror.ts'
import { findHazard } from '../../../gitstore/upkeep/hazards.ts'
import { findRecord } from '../format/org-format.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { sameBranches } from '../indexing/indexed-branches.ts'
import { isId, ledgerRef, main, orgRepository, stagingFolder } from '../layout.ts'
import { readNodeRecord } from '../ledger/ledger.ts'
import { byPath } from './backup.ts'
import { findCopies } from './copies.ts'
import { type Manifest, manifestFile, readManifest } from './manifest.ts'

/** Repositories copied concurrently. */
const atOnce = 2

/** Copied repositories that are not in place yet. */
export interface Staged {
  readonly orgs: readonly string[]
  readonly nodes: number
  readonly manifest: Manifest | undefined
  /** Copies that were skipped without being damaged. */
  readonly left: readonly PathProblem[]
  readonly problems: readonly PathProblem[]
}

/** A copy below the staging folder, with the identity it contains. */
interface Copied {
  /** The path of its mirror. */
  readonly path: string
  readonly copy: Repo
  readonly id: string
  /** The same as `id` for an organisation. */
  readonly orgId: string
  /** Creation of the organisation or node, ISO 8601 in UTC. */
  readonly createdAt: string
  /** Descriptions of damage. */
  readonly reasons: readonly string[]
}

interface Chosen {
  readonly copies: readonly Copied[]
  readonly problems: readonly PathProblem[]
}

/**
 * Copies every mirror below `dir` into the staging folder of `root`. The data folder `root` must exist. A mirror is
 * identified by its content, not its name. If `signal` is aborted, git ends at once and nothing is left in `root`.
 *
 * @throws GitError storage_*, and system errors if `dir` cannot be read or `root` cannot be written
 * @throws the signal's reason
 */
export async function stageCopies(
  root: string,
  dir: string,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<Staged> {
  const staging = join(root, stagingFolder)
  await mkdir(staging)
  try {
    return await stageAll(staging, dir, signal, onProgress)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

async function stageAll(
  staging: string,
  dir: string,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<Staged> {
  const found = await findCopies(dir)
  const { manifest, damage } = await readManifest(dir)
  const gone = new Set(manifest?.gone)
  const named = new Map(manifest?.repositories.map(({ path, refs }) => [path, new Map(Object.entries(refs))]))
  const wanted = found.paths.filter((path) => !gone.has(path))
  const left = found.paths
    .filter((path) => gone.has(path))
    .map((path) => ({ path, reason: 'was deleted before the backup (manifest.json, gone)' }))
  const [deep] = found.unsearched
  if (deep !== undefined)
    left.push({
      path: deep,
      reason: `was not searched, because it is nested too deeply; there are ${found.unsearched.length} such folders`,
    })

  const copied = await copyAll(staging, dir, wanted, named, signal, onProgress)
  const { copies, problems: conflicts } = chooseCopies(copied.copies)
  for (const { copy, id, orgId } of copies) {
    await mkdir(join(staging, orgId), { recursive: true })
    await moveRepo(copy.dir, join(staging, orgId, id === orgId ? orgRepository : `${id}.git`))
  }
  const problems = [
    ...(damage === undefined ? [] : [{ path: manifestFile, reason: `damaged, and was ignored: ${damage}` }]),
    ...found.problems.filter(({ path }) => !gone.has(path)),
    ...copied.problems,
    ...conflicts,
  ]
  if (found.paths.length + problems.length === 0) problems.push({ path: dir, reason: 'contains no repository' })
  const spoken = new Set([...problems.map(({ path }) => path), ...copies.map(({ path }) => path)])
  for (const path of named.keys())
    if (!spoken.has(path)) problems.push({ path, reason: 'is missing, but the manifest lists it' })
  const orgs = copies.filter(({ id, orgId }) => id === orgId).map(({ id }) => id)
  return { orgs: orgs.sort(), nodes: copies.length - orgs.length, manifest, left, problems: problems.sort(byPath) }
}

/**
 * Chooses the first of several copies of one repository. If several organisations have nodes with the same id, only one
 * can be served. It chooses the one created first, because the others reused the id of a deleted node.
 */
function chooseCopies(all: readonly Copied[]): Chosen {
  const problems: PathProblem[] = []
  const leave = ({ path }: Copied, reason: string): false => {
    problems.push({ path, reason: `skipped: ${reason}` })
    return false
  }
  const first = new Map<string, Copied>()
  const single = all.filter((one) => {
    const key = `${one.orgId}/${one.id}`
    const other = first.get(key)
    if (other) return leave(one, `${other.path} is a copy of the same repository`)
    first.set(key, one)
    return true
  })
  const orgs = new Set(single.filter((one) => one.id === one.orgId).map(({ id }) => id))
  const housed = single.filter(
    (one) => orgs.has(one.orgId) || leave(one, `its organisation ${one.orgId} is not among the copies`),
  )
  const holders = new Map<string, Copied>()
  for (const one of housed) {
    const holder = holders.get(one.id)
    if (one.id !== one.orgId && (!holder || isOlder(one, holder))) holders.set(one.id, one)
  }
  const copies = housed.filter((one) => {
    const holder = holders.get(one.id)
    if (one.id === one.orgId || !holder || holder === one) return true
    return leave(one, `its id ${one.id} is also that of a node of the organisation ${holder.orgId} (${holder.path})`)
  })
  for (const one of copies) problems.push(...one.reasons.map((reason) => ({ path: one.path, reason })))
  return { copies, problems }
}

function isOlder(one: Copied, other: Copied): boolean {
  return Date.parse(one.createdAt) < Date.parse(other.createdAt)
}

interface AllCopied {
  readonly copies: readonly Copied[]
  /** Mirrors that could not be copied. */
  readonly problems: readonly PathProblem[]
}

async function copyAll(
  staging: string,
  dir: string,
  wanted: readonly string[],
  named: ReadonlyMap<string, ReadonlyMap<string, Oid>>,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<AllCopied> {
  const turn = pLimit(atOnce)
  const failing = new AbortController()
  const ending = AbortSignal.any([signal, failing.signal])
  const copies: Copied[] = []
  const problems: PathProblem[] = []
  let done = 0
  const copying = wanted.map((path) =>
    turn(async () => {
      ending.throwIfAborted()
      const copied = await copyOne(staging, dir, path, named.get(path), ending).catch((error: unknown) => {
        if (!(error instanceof GitError) || isStorageError(error)) failing.abort(error)
        return error instanceof Error ? error.message : String(error)
      })
      ending.throwIfAborted()
      if (typeof copied === 'string') problems.push({ path, reason: copied })
      else copies.push(copied)
      onProgress(++done, wanted.length)
    }),
  )
  await allDone(copying)
  return { copies: copies.sort(byPath), problems }
}

const notAMirror = 'not a mirror: it has no refs/grove/ledger and no org.json; create one with git clone --mirror'

/**
 * Copies one repository to `staging` under a new name, or returns a reason against it.
 *
 * @param named its refs in the manifest
 * @throws GitError if it cannot be copied
 */
async function copyOne(
  staging: string,
  dir: string,
  path: string,
  named: ReadonlyMap<string, Oid> | undefined,
  signal: AbortSignal,
): Promise<Copied | string> {
  const from: Repo = { dir: join(dir, path) }
  try {
    const hazard = await findHazard(from.dir)
    if (hazard !== undefined) return hazard
    if (!readRef(from, ledgerRef) && !readRef(from, main)) return notAMirror
  } catch (error) {
    if (error instanceof GitError || codeOf(error) === undefined) throw error
    return `cannot be read: ${error instanceof Error ? error.message : error}`
  }
  const copy = await createMirror(from, join(staging, `${newId()}.git`), signal)
  const identity = await identityOf(copy)
  if (!identity) return notAMirror
  const damage = await findDamage(copy, signal)
  const moved = named && !sameBranches(named, listRefs(copy, 'refs/'))
  const reasons = [
    ...identity.reasons,
    ...(damage === undefined ? [] : [damage]),
    ...(moved ? ['has other refs than the manifest lists'] : []),
  ]
  return { path, copy, ...identity, reasons }
}

type Identity = Pick<Copied, 'id' | 'orgId' | 'createdAt' | 'reasons'>

/** Returns the identity in the repository. Both ids are equal for an organisation. Undefined: not a mirror. */
async function identityOf(repo: Repo): Promise<Identity | undefined> {
  const ledger = readRef(repo, ledgerRef)
  if (ledger) {
    const { id, org_id, created_at } = await readNodeRecord(repo, ledger)
    if (!isUuid(id) || !isUuid(org_id) || id === org_id) return undefined
    return { id, orgId: org_id, createdAt: created_at, reasons: [] }
  }
  const head = readRef(repo, main)
  const record = head ? await findRecord(repo, head) : undefined
  if (!record) return undefined
  const { org, damaged = [] } = record
  const reasons = damaged.map(({ path, reason }) => `${path} is damaged, so this member is skipped: ${reason}`)
  return { id: org.id, orgId: org.id, createdAt: org.created_at, reasons }
}

/** True for a valid id. Ids come from files of unknown origin. */
function isUuid(id: unknown): id is string {
  return typeof id === 'string' && isId(id)
}
