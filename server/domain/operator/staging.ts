/** Mirrors brought below a data folder, each to where it says that it belongs, before anything there sees them. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import pLimit from 'p-limit'
import { v7 as newId } from 'uuid'
import { allDone } from '../../../gitstore/durable.ts'
import { GitError } from '../../../gitstore/errors.ts'
import { findDamage } from '../../../gitstore/fsck.ts'
import { createMirror } from '../../../gitstore/mirror.ts'
import { listRefs, readRef } from '../../../gitstore/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo, repoExists, unfinished } from '../../../gitstore/repos.ts'
import { sameBranches } from '../follow.ts'
import { readNodeRecord } from '../ledger.ts'
import { readRecord } from '../org-record.ts'
import { isId, ledgerRef, main } from '../places.ts'
import { byPath, type Manifest, readManifest, type Trouble } from './backup.ts'

/** Folders below the one that is given, at most, that are searched for repositories. */
const deepest = 3

/** Repositories that are copied at the same time. */
const atOnce = 2

/** Below the data folder while repositories are being copied: nothing reads it, and one restores at a time. */
export const stagingFolder = 'restoring'

/** What has been copied and is still to be put into place. */
export interface Staged {
  readonly orgs: readonly string[]
  readonly nodes: number
  readonly manifest: Manifest | undefined
  /** Copies that were left where they are, for no fault of theirs. */
  readonly left: readonly Trouble[]
  readonly problems: readonly Trouble[]
}

/**
 * Copies every mirror below `dir` into the data folder `root`, where nothing sees it yet. What each is follows from what it
 * holds, not from its name.
 *
 * @throws GitError storage_*; system errors where `dir` cannot be read or `root` not be written
 */
export async function stage(
  root: string,
  dir: string,
  onProgress: (done: number, total: number) => void,
): Promise<Staged> {
  const staging = join(root, stagingFolder)
  await mkdir(root, { recursive: true })
  await mkdir(staging)
  try {
    return await stageAll(staging, dir, onProgress)
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    throw error
  }
}

async function stageAll(
  staging: string,
  dir: string,
  onProgress: (done: number, total: number) => void,
): Promise<Staged> {
  const problems: Trouble[] = []
  const left: Trouble[] = []
  const manifest = await readManifest(dir).catch((error: unknown) => {
    if (!(error instanceof SyntaxError)) throw error
    problems.push({ path: 'manifest.json', reason: `damaged, and done without: ${error.message}` })
    return undefined
  })
  const gone = new Set(manifest?.gone)
  const found = (await findRepositories(dir)).map((path) => relative(dir, path))
  for (const path of found.filter((one) => gone.has(one)))
    left.push({ path, reason: 'was deleted before the backup (manifest.json, gone)' })
  const wanted = found.filter((path) => !gone.has(path))
  const named = new Map(manifest?.repositories.map(({ path, refs }) => [path, new Map(Object.entries(refs))]))
  const turn = pLimit(atOnce)
  let done = 0
  const copying = wanted.map((path) =>
    turn(async () => {
      const copied = await copyOne(staging, join(dir, path), named.get(path)).catch(reasonOf)
      onProgress(++done, wanted.length)
      return copied
    }),
  )
  const placed: Placed = new Map()
  for (const [at, copied] of (await allOf(copying)).entries()) {
    const path = wanted[at] ?? ''
    const reasons = typeof copied === 'string' ? [copied] : await placeOne(staging, path, copied, placed)
    problems.push(...reasons.map((reason) => ({ path, reason })))
  }
  for (const path of named.keys())
    if (!existsSync(join(dir, path))) problems.push({ path, reason: 'is missing, though the manifest names it' })

  const folders = (await readdir(staging)).filter(isId).sort()
  const orgs = folders.filter((id) => repoExists({ dir: join(staging, id, 'org.git') }))
  const lost = folders.filter((id) => !orgs.includes(id))
  for (const { path, orgId } of placed.values())
    if (lost.includes(orgId)) problems.push({ path, reason: `left: its organisation ${orgId} is not among the copies` })
  for (const id of lost) await rm(join(staging, id), { recursive: true })
  const nodes = [...placed].filter(([id, { orgId }]) => id !== orgId && orgs.includes(orgId)).length
  return { orgs, nodes, manifest, left, problems: problems.sort(byPath) }
}

/** By path, absolute; what is below a repository belongs to it. Links are not followed. */
async function findRepositories(dir: string, depth = 0): Promise<string[]> {
  const entries = (await readdir(dir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(unfinished))
    .map((entry) => join(dir, entry.name))
    .sort()
  const found: string[] = []
  for (const path of entries) {
    if (['HEAD', 'objects', 'refs'].every((name) => existsSync(join(path, name)))) found.push(path)
    else if (depth + 1 < deepest) found.push(...(await findRepositories(path, depth + 1)))
  }
  return found
}

const notAMirror = 'not a mirror: it has no refs/grove/ledger and no org.json; git clone --mirror makes one'

/** By the id of the organisation or the node, unique among all: the copy that it came from. */
type Placed = Map<string, { readonly path: string; readonly orgId: string }>

interface Copied {
  readonly copy: Repo
  readonly id: string
  /** The same for an organisation. */
  readonly orgId: string
  /** What is wrong with it. */
  readonly reasons: readonly string[]
}

/**
 * Copies one repository below `staging`, under a name of its own.
 *
 * @param named its refs by the manifest
 * @throws GitError where it cannot be copied at all
 */
async function copyOne(
  staging: string,
  dir: string,
  named: ReadonlyMap<string, Oid> | undefined,
): Promise<Copied | string> {
  const from: Repo = { dir }
  if (!readRef(from, ledgerRef) && !readRef(from, main)) return notAMirror
  const copy = await createMirror(from, join(staging, `${newId()}.git`))
  const identity = await identityOf(copy)
  if (!identity) return notAMirror
  const damage = await findDamage(copy, 'full')
  const moved = named && !sameBranches(named, listRefs(copy, 'refs/'))
  const reasons = [
    ...(damage === undefined ? [] : [damage]),
    ...(moved ? ['has other refs than the manifest names'] : []),
  ]
  return { copy, ...identity, reasons }
}

/** Gives the copy of `path` its name below `staging`, unless another has it; what there is to say of it. */
async function placeOne(
  staging: string,
  path: string,
  { copy, id, orgId, reasons }: Copied,
  placed: Placed,
): Promise<readonly string[]> {
  const other = placed.get(id)
  if (other) return [`left: ${other.path} is a copy of the same`]
  await mkdir(join(staging, orgId), { recursive: true })
  await moveRepo(copy.dir, join(staging, orgId, id === orgId ? 'org.git' : `${id}.git`))
  placed.set(id, { path, orgId })
  return reasons
}

/** A sentence for a copy that is damaged. @throws what is not its fault */
function reasonOf(error: unknown): string {
  if (!(error instanceof GitError) || error.code.startsWith('storage_')) throw error
  return error.message
}

/** All of them, to the end, even if one fails. @throws the first failure */
async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await allDone(work)
  return Promise.all(work)
}

/** What the repository says it is, an organisation where both are the same; undefined: it is no mirror. */
async function identityOf(repo: Repo): Promise<{ id: string; orgId: string } | undefined> {
  const ledger = readRef(repo, ledgerRef)
  if (ledger) {
    const { id, org_id } = await readNodeRecord(repo, ledger)
    return isUuid(id) && isUuid(org_id) && id !== org_id ? { id, orgId: org_id } : undefined
  }
  const head = readRef(repo, main)
  const id = head && (await readRecord(repo, head).then(({ org }) => org.id, noRecord))
  return isUuid(id) ? { id, orgId: id } : undefined
}

/** Ids come from files that anybody may have written. */
function isUuid(id: unknown): id is string {
  return typeof id === 'string' && isId(id)
}

/** Somebody else's repository has no org.json, or another; what is damaged is told as that. */
function noRecord(error: unknown): undefined {
  if (error instanceof GitError) throw error
  return undefined
}
