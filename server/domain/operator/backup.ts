/** Backs up accounts and a mirror of every repository. Checks changed mirrors, and writes a manifest. */

import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import pLimit from 'p-limit'
import { allDone, makeFolder, syncDirectory, syncPath } from '../../../gitstore/durable.ts'
import { GitError, isGitError, isStorageError } from '../../../gitstore/errors.ts'
import { ignoreMissing, lexists } from '../../../gitstore/fs-exists.ts'
import { findDamage, findIntact } from '../../../gitstore/objects/fsck.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo, repoExists } from '../../../gitstore/repo-folders.ts'
import { isUnfinished, unfinishedName } from '../../../gitstore/temporary-names.ts'
import { createMirror, createMirrors, fetchMirror } from '../../../gitstore/transfer/mirror.ts'
import { findHazard, findOddEntry, hasOwnConfig } from '../../../gitstore/upkeep/hazards.ts'
import { stateOf } from '../../../gitstore/upkeep/state.ts'
import { copyFromPostgres, removeMails } from '../../../index/credentials/copies.ts'
import type { PostgresAddress } from '../../../index/postgres/pool.ts'
import { copyDatabase, findDatabaseDamage } from '../../../index/sqlite/backup.ts'
import { slices } from '../../base/slices.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { sameBranches } from '../indexing/indexed-branches.ts'
import { identityRef, listStoredRepositories, type StoredRepository } from '../indexing/stored-repositories.ts'
import { credentialsFile, eventsFile, indexFile, runFolder, vectorsFile } from '../layout.ts'
import { hashOfFile, type Manifest, type MirrorEntry, manifestFile, writeManifest } from './manifest.ts'
import { checkedMirrors, isStamped, isUntouched } from './mirror-checks.ts'
import { findVanished } from './vanished.ts'

/** A data folder. */
export interface Source {
  readonly root: string
  /** The database that has its accounts. Undefined: credentials.sqlite. */
  readonly postgres: PostgresAddress | undefined
}

export interface BackupOptions {
  /** Repositories copied at a time. */
  readonly atOnce: number
  /** Makes git check every mirror. */
  readonly full: boolean
  /** The stamps of the index by path, read before the copies. Empty if the index cannot be read. */
  readonly stamps: ReadonlyMap<string, number>
}

export interface BackedUp {
  readonly repositories: number
  /** No backup into this folder was completed before. */
  readonly isFirst: boolean
  /** How many of the repositories were new or had changed since the last backup. */
  readonly fetched: number
  readonly gone: readonly string[]
  /** Paths whose mirror was damaged and has been replaced by a new copy. */
  readonly again: readonly string[]
  readonly problems: readonly PathProblem[]
}

/** Folders are readable by their owner only. */
const privateMode = 0o700

/** Repositories that are copied together. */
const ofGroup = 50

/** Milliseconds after which a partial copy counts as abandoned. */
const abandonedAfterMs = 24 * 3600 * 1000

/**
 * Copies a data folder to `dir`. Both may be in use. Copies accounts first, so that each member of a copied
 * organisation has an account or gets one from `restore`. A repository that cannot be copied keeps its last mirror and
 * does not stop the others. If `signal` is aborted, git ends at once and `manifest.json` is not changed.
 *
 * @throws GitError storage_* and system errors if `dir` cannot be written; the signal's reason
 */
export async function backUpData(
  source: Source,
  dir: string,
  options: BackupOptions,
  now: Date,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<BackedUp> {
  await makeFolder(dir, privateMode)
  const isFirst = !lexists(join(dir, manifestFile))
  const run = new BackupRun(source, dir, options, now, signal)
  await run.attempt(credentialsFile, () => copyCredentials(source, dir))
  // Before the mirrors, so that the log is behind them and never ahead. After a restore it catches up.
  await run.attempt(eventsFile, () => copyIfPresent(source, dir, eventsFile))
  await run.attempt(vectorsFile, () => copyIfPresent(source, dir, vectorsFile))

  const sources = await listStoredRepositories(source.root)
  const checked = options.full ? new Map<string, MirrorEntry>() : await checkedMirrors(dir)
  const present = new Set((await listStoredRepositories(dir)).map(({ path }) => path))
  for (const orgId of new Set(sources.map((stored) => stored.orgId))) {
    await makeFolder(join(dir, orgId), privateMode)
    await removeAbandoned(join(dir, orgId), now)
  }
  const turn = pLimit(options.atOnce)
  const onTaken = () => onProgress(run.taken, sources.length)
  const takeAll = async (some: readonly StoredRepository[]) => {
    for (const { path } of some) {
      run.skip(present.has(path) ? checked.get(path) : undefined)
      onTaken()
    }
    const left = () => some.filter(({ path }) => !run.entries.has(path))
    const groups = slices(left(), Math.min(ofGroup, Math.ceil(left().length / options.atOnce) || 1))
    await allDone(groups.map((group) => turn(() => run.attempt(dir, () => run.takeTogether(group)).then(onTaken))))
    await allDone(left().map((stored) => turn(() => run.take(stored).then(onTaken))))
  }
  const isOrg = ({ nodeId }: StoredRepository) => nodeId === undefined
  await takeAll(sources.filter((stored) => !isOrg(stored)))
  // After its pages, so that it knows each merge of a change set that a mirror of a page has.
  await takeAll(sources.filter(isOrg))

  const vanished = await findVanished(source.root)
  // A restore brings back what nobody deleted.
  const known = new Set([...sources, ...vanished].map(({ path }) => path))
  const manifest = await manifestOf(dir, known, run.entries, now)
  run.throwIfEnded()
  await writeManifest(dir, manifest)
  return {
    repositories: manifest.repositories.length,
    isFirst,
    fetched: run.fetched,
    gone: manifest.gone,
    again: run.again.sort(),
    problems: [...run.problems, ...vanished].sort(byPath),
  }
}

/** The copies and findings of one backup. A fault of the storage ends all copies. */
class BackupRun {
  /** Intact mirrors, by path. */
  readonly entries = new Map<string, MirrorEntry>()
  readonly problems: PathProblem[] = []
  readonly again: string[] = []
  /** Repositories that were copied, were unchanged or have a problem. */
  taken = 0
  fetched = 0
  private readonly source: Source
  private readonly dir: string
  private readonly options: BackupOptions
  private readonly now: Date
  private readonly failing = new AbortController()
  private readonly ending: AbortSignal

  constructor(source: Source, dir: string, options: BackupOptions, now: Date, signal: AbortSignal) {
    this.source = source
    this.dir = dir
    this.options = options
    this.now = now
    this.ending = AbortSignal.any([signal, this.failing.signal])
  }

  /** @throws the fault of the storage, or the signal's reason */
  throwIfEnded(): void {
    this.ending.throwIfAborted()
  }

  /** Runs `work`. Any fault but one of the storage is a problem of this path. @throws errors of `throwIfEnded` */
  async attempt(path: string, work: () => Promise<void>): Promise<void> {
    this.throwIfEnded()
    try {
      await work()
    } catch (error) {
      if (isStorageError(error)) this.failing.abort(error)
      this.throwIfEnded()
      this.problems.push({ path, reason: error instanceof Error ? error.message : String(error) })
    }
  }

  /** @param last the mirror's entry in the previous backup, if the mirror is still there */
  skip(last: MirrorEntry | undefined): void {
    if (!last) return
    const { path } = last
    try {
      if (
        isStamped(last, this.now, this.options.stamps.get(path)) ||
        isUntouched(this.source.root, this.dir, last, this.now)
      )
        this.keep(last)
    } catch {
      // `take` explains why the repository cannot be read.
    }
  }

  private keep({ path, refs, checked }: MirrorEntry): void {
    const stamp = this.options.stamps.get(path)
    this.entries.set(path, { path, refs, ...(checked && { checked }), ...(stamp !== undefined && { stamp }) })
    this.taken++
  }

  /**
   * Copies repositories without mirrors together, and checks mirrors that have the refs of their repositories. Leaves to
   * `take` what has other refs, is damaged or cannot be copied.
   */
  async takeTogether(group: readonly StoredRepository[]): Promise<void> {
    const { dir, now } = this
    const plans = []
    const equal = []
    for (const stored of group) {
      const from = { dir: join(this.source.root, stored.path) }
      const to = { dir: join(dir, stored.path) }
      const refs = await refsToCopy(from, stored).catch(() => undefined)
      const isNew = !lexists(to.dir)
      const had = isNew ? undefined : await ownRefs(to).catch(() => undefined)
      if (refs && isNew) plans.push({ ...stored, from, refs, loose: identityRef(stored), dir: to.dir })
      if (refs && had && sameBranches(had, refs)) equal.push({ ...stored, from, to })
    }
    const made = await createMirrors(plans, this.ending)
    this.fetched += made.length
    const checked = equal.flatMap(({ from, to }) => [from, to])
    const intact = new Set(checked.length > 0 ? await findIntact(checked, this.ending).catch(() => []) : [])
    const sound = equal.filter(({ from, to }) => intact.has(from) && intact.has(to))
    for (const { path } of [...made, ...sound]) await this.attempt(path, async () => this.keep(entryOf(dir, path, now)))
  }

  async take(stored: StoredRepository): Promise<void> {
    const { dir, now } = this
    const { path } = stored
    await this.attempt(path, async () => {
      const taken = await takeRepository(this.source.root, dir, stored, this.options.full, this.ending)
      if (taken.fetched) this.fetched++
      if (taken.again) this.again.push(path)
      if (taken.damage !== undefined) this.problems.push({ path, reason: taken.damage })
      else this.keep(entryOf(dir, path, now))
    })
    if (!this.entries.has(path)) this.taken++
  }
}

/**
 * Lists the mirrors that the folder now holds.
 *
 * @param known paths of the repositories that were not deleted
 * @param entries of intact mirrors
 */
async function manifestOf(
  dir: string,
  known: ReadonlySet<string>,
  entries: ReadonlyMap<string, MirrorEntry>,
  now: Date,
): Promise<Manifest> {
  const mirrors = (await listStoredRepositories(dir)).map(({ path }) => path)
  const kept = mirrors.filter((path) => repoExists({ dir: join(dir, path) }))
  const repositories = kept
    .filter((path) => known.has(path))
    .flatMap((path) => {
      const entry = entries.get(path)
      if (entry) return [entry]
      const refs = refsOf({ dir: join(dir, path) })
      return refs ? [{ path, refs: Object.fromEntries(refs) }] : []
    })
  const gone = kept.filter((path) => !known.has(path))
  const sha256 = await hashOfFile(join(dir, credentialsFile))
  const ofEvents = await hashOfFile(join(dir, eventsFile))
  const ofVectors = await hashOfFile(join(dir, vectorsFile))
  return {
    format: 1,
    created_at: now.toISOString(),
    ...(sha256 === undefined ? {} : { credentials: { sha256 } }),
    ...(ofEvents === undefined ? {} : { events: { sha256: ofEvents } }),
    ...(ofVectors === undefined ? {} : { vectors: { sha256: ofVectors } }),
    repositories,
    gone,
  }
}

/** Returns why `root` must not be copied to `dir`. A wrong path must not replace the accounts of another backup. */
export async function findMistake({ root, postgres }: Source, dir: string): Promise<string | undefined> {
  // The index may have been removed, because it can be rebuilt.
  const signs = postgres ? [join(root, indexFile), runFolder(root)] : [join(root, credentialsFile)]
  if (!signs.some(lexists))
    return `${root} is not a data folder: it has no ${signs.map((path) => basename(path)).join(' and no ')}`
  if (!lexists(dir)) return undefined
  const known = new Set((await listStoredRepositories(root)).map(({ path }) => path))
  const mirrors = (await listStoredRepositories(dir)).filter(({ path }) => lexists(join(dir, path)))
  if (mirrors.length === 0 || mirrors.some(({ path }) => known.has(path))) return undefined
  return `${dir} is a backup of another data folder: none of its repositories is in ${root}`
}

export function byPath(a: Pick<PathProblem, 'path'>, b: Pick<PathProblem, 'path'>): number {
  return a.path < b.path ? -1 : 1
}

/**
 * Copies the accounts. The file is complete, checked and durable before it gets its name. Only its owner can read
 * it, because it holds password hashes.
 */
async function copyCredentials({ root, postgres }: Source, dir: string): Promise<void> {
  await placeCopy(dir, credentialsFile, async (making) => {
    if (postgres) await copyFromPostgres(postgres, making)
    else copyDatabase(join(root, credentialsFile), making)
    removeMails(making)
  })
}

/**
 * Copies another database, in the same way. Events and the audit have names and IP addresses. Texts can be guessed from
 * vectors.
 */
async function copyIfPresent({ root }: Source, dir: string, name: string): Promise<void> {
  if (!lexists(join(root, name))) return
  await placeCopy(dir, name, async (making) => copyDatabase(join(root, name), making))
}

async function placeCopy(dir: string, name: string, copy: (making: string) => Promise<void>): Promise<void> {
  const making = join(dir, unfinishedName('.sqlite'))
  try {
    await (await open(making, 'wx', 0o600)).close()
    await copy(making)
    const damage = findDatabaseDamage(making)
    if (damage !== undefined) throw new Error(damage)
    await syncPath(making)
    await rename(making, join(dir, name))
    await syncDirectory(dir)
  } finally {
    await rm(making, { force: true })
  }
}

/** Returns the entry of a mirror that git has just found intact. */
function entryOf(dir: string, path: string, now: Date): MirrorEntry {
  const mirror: Repo = { dir: join(dir, path) }
  const checked = { at: now.toISOString(), state: stateOf(mirror.dir) }
  return { path, refs: Object.fromEntries(listRefs(mirror, 'refs/')), checked }
}

interface Taken {
  /** False if the mirror already had every ref. */
  readonly fetched: boolean
  /** True: a new copy replaces the mirror, which was damaged or of another repository. */
  readonly again: boolean
  /** Damage that git fsck reports for the mirror, or else for the repository. */
  readonly damage: string | undefined
}

/**
 * Copies a repository, or fetches into its mirror. A fetch reads only new objects. If nothing is new, or with `full`,
 * git also checks the repository, because the disk may have lost objects that the mirror has.
 *
 * @throws GitError. An existing mirror is then unchanged.
 */
async function takeRepository(
  root: string,
  dir: string,
  stored: StoredRepository,
  full: boolean,
  signal: AbortSignal,
): Promise<Taken> {
  const from: Repo = { dir: join(root, stored.path) }
  const to: Repo = { dir: join(dir, stored.path) }
  const refs = await refsToCopy(from, stored)
  try {
    if (!repoExists(to)) {
      await createMirror(from, to.dir, signal)
      return { fetched: true, again: false, damage: await findDamage(to, signal) }
    }
    const had = await ownRefs(to)
    const fetched = had === undefined || !sameBranches(had, refs)
    const failure = fetched && had ? await fetchMirror(from, to, signal).catch((error: unknown) => error) : undefined
    const isSound = had && (await findDamage(to, signal)) === undefined
    if (isSound && failure) throw failure
    if (!isSound)
      return { fetched: had !== undefined && fetched, again: true, damage: await takeAgain(from, to, signal) }
    const lost = full || !fetched ? await findDamage(from, signal) : undefined
    return { fetched, again: false, damage: lost && `${lost}; its mirror is intact` }
  } catch (error) {
    if (repoExists(from)) throw error
    throw new GitError('repo_missing', 'it was deleted while it was copied')
  }
}

/** Returns the refs of a repository that Git may read. @throws GitError, system errors */
async function refsToCopy(from: Repo, stored: StoredRepository): Promise<ReadonlyMap<string, Oid>> {
  // Git would block on a named pipe until its time limit.
  const odd = lexists(from.dir) ? await findOddEntry(from.dir, false) : undefined
  if (odd !== undefined) throw new GitError('native_failed', `${odd}; the mirror was not changed`)
  const refs = listRefs(from, 'refs/')
  const identity = identityRef(stored)
  // Otherwise a loss on the disk would also be copied to the mirror.
  if (!refs.has(identity)) throw new GitError('ref_damaged', `${identity} is missing; the mirror was not changed`)
  return refs
}

/** Replaces a damaged mirror. */
async function takeAgain(from: Repo, to: Repo, signal: AbortSignal): Promise<string | undefined> {
  const fresh = join(dirname(to.dir), unfinishedName('.git'))
  try {
    const damage = await findDamage(await createMirror(from, fresh, signal), signal)
    await rm(to.dir, { recursive: true })
    await moveRepo(fresh, to.dir)
    return damage
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Removes partial copies of killed backups. */
async function removeAbandoned(folder: string, now: Date): Promise<void> {
  for (const name of (await readdir(folder)).filter(isUnfinished)) {
    const found = await ignoreMissing(stat(join(folder, name)))
    if (found && now.getTime() - found.mtimeMs > abandonedAfterMs)
      await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** Returns the refs of a mirror that Git may read. Undefined if it is damaged, or has another configuration. */
async function ownRefs(to: Repo): Promise<ReadonlyMap<string, Oid> | undefined> {
  const isOurs = (await findHazard(to.dir)) === undefined && (await hasOwnConfig(to))
  return isOurs ? refsOf(to) : undefined
}

/** Returns the refs, or undefined if the repository is too damaged to be read. */
function refsOf(repo: Repo): ReadonlyMap<string, Oid> | undefined {
  try {
    return listRefs(repo, 'refs/')
  } catch (error) {
    if (isGitError(error, 'ref_damaged')) return undefined
    throw error
  }
}
