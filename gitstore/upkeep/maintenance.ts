/**
 * Keeps a repository fast to read. Packs loose objects, merges small packs, packs refs, and writes a commit-graph.
 * Prunes nothing. Unreachable objects are packed with all others.
 *
 * Git's own `repack -d` deletes old packs without syncing the names of the new one. Here every deletion follows the
 * sync. Young objects stay loose, even unreachable ones, because they may belong to a commit whose ref is about to
 * move. An operator's `git repack -ad` drops from packs every object that is unreachable at its start.
 */
import { readdir, stat, unlink } from 'node:fs/promises'
import { syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { exists, ignoreMissing } from '../fs-exists.ts'
import { runGitOrThrow } from '../native.ts'
import { refuseReadOnly } from '../refs/read-only.ts'
import { readRef } from '../refs/refs.ts'
import type { Oid, Repo } from '../repo.ts'
import { main } from '../repo-folders.ts'

/** The age at which loose objects are packed. No request or push takes that long from its objects to its refs. */
const youngMs = 60 * 60_000
/** The limit of objects in one pack. The next run packs the rest. */
const maxObjectsPerPack = 50_000
const gitTimeoutMs = 10 * 60_000

/**
 * Bounds the memory of one Git process, on one core. 64 MiB are for the search for deltas, 32 for the deltas found, and
 * 128 for packs.
 */
const memoryLimits = [
  'pack.threads=1',
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=32m',
  'core.packedGitWindowSize=16m',
  'core.packedGitLimit=128m',
  'core.deltaBaseCacheLimit=32m',
  'core.bigFileThreshold=16m',
].flatMap((setting) => ['-c', setting])

/** The numbers of loose objects, packs to merge, and loose refs at which maintenance runs. */
const thresholds = { looseIn256th: 8, packs: 10, refs: 256 } as const
/** Bytes of packs above which a commit-graph pays, and its age for a rewrite. */
const minGraphPackBytes = 1_048_576
const maxGraphAgeMs = 60 * 60_000

export interface Needs {
  readonly objects: boolean
  readonly packs: boolean
  readonly refs: boolean
  readonly graph: boolean
}

/** Checks which maintenance is needed. Reads four folders, in 1 ms. @throws GitError storage_* */
export async function needsOf(repo: Repo): Promise<Needs> {
  try {
    // Ids are spread evenly, so one folder represents all 256. Source: too_many_loose_objects, builtin/gc.c.
    const sample = await looseIn(repo, '17')
    const packs = await listPacks(repo)
    return {
      objects: sample.length >= thresholds.looseIn256th,
      packs: packs.length >= thresholds.packs && packsToMerge(packs).length > 0,
      refs: (await looseRefs(repo)) >= thresholds.refs,
      graph: await wantsGraph(repo, packs),
    }
  } catch (error) {
    throw asStorageError(error)
  }
}

/**
 * Does the maintenance in `needs`. Uses Git processes of low priority, which `signal` kills. Concurrent reads, writes
 * and `git gc` are safe. Two concurrent runs do the work twice, without harm.
 *
 * @throws GitError native_failed (also when killed), repo_missing, storage_* (facts.sync), and other system errors
 */
export async function maintain(repo: Repo, needs: Needs, signal: AbortSignal): Promise<void> {
  refuseReadOnly(repo)
  try {
    if (needs.objects) await packLoose(repo, signal)
    if (needs.packs) await mergePacks(repo, signal)
    if (needs.refs) await packRefs(repo, signal)
    if (needs.graph) await writeGraph(repo, signal)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new GitError('repo_missing', 'The repository was deleted in the meantime')
    throw asStorageError(error)
  }
}

interface Loose {
  readonly oid: Oid
  readonly path: string
  readonly bytes: number
}

/** Lists the old loose objects in one of the 256 folders. */
async function looseIn(repo: Repo, fanOut: string): Promise<Loose[]> {
  const folder = `${repo.dir}/objects/${fanOut}`
  const names = ((await ignoreMissing(readdir(folder))) ?? []).filter((name) => /^[0-9a-f]{38}$/.test(name))
  const found: Loose[] = []
  for (const name of names) {
    const path = `${folder}/${name}`
    const file = await oldFile(path)
    // A crash left an empty file; repair.ts removes it.
    if (file && file.size > 0) found.push({ oid: fanOut + name, path, bytes: file.size })
  }
  return found
}

async function oldFile(path: string): Promise<{ size: number } | undefined> {
  const file = await ignoreMissing(stat(path))
  return file && Date.now() - file.mtimeMs > youngMs ? file : undefined // the clock of file times, as in object-batch.ts
}

async function packLoose(repo: Repo, signal: AbortSignal): Promise<void> {
  const loose: Loose[] = []
  let bytes = 0
  for (const name of (await readdir(`${repo.dir}/objects`)).filter((one) => /^[0-9a-f]{2}$/.test(one))) {
    if (loose.length >= maxObjectsPerPack || bytes >= maxPackBytes || signal.aborted) break
    const some = await looseIn(repo, name)
    bytes += some.reduce((sum, one) => sum + one.bytes, 0)
    loose.push(...some)
  }
  if (loose.length === 0) return
  await packObjects(
    repo,
    [],
    loose.map(({ oid }) => oid),
    signal,
  )
  for (const { path } of loose) {
    // A file that was freshened since stays, because a writer is about to use it.
    if (await oldFile(path)) await ignoreMissing(unlink(path))
  }
}

export interface Pack {
  /** `pack-<hash>`. */
  readonly name: string
  /** Bytes of the `.pack` file. */
  readonly bytes: number
}

/** The limit of a merged pack, in bytes. A larger pack stays unchanged. */
export const maxPackBytes = 512 * 1024 * 1024

/** Suffixes of files that mark a pack as kept, partial, or cruft. */
const keepSuffixes = ['.keep', '.promisor', '.mtimes']

/** Lists the packs that maintenance may replace. Empty if an operator's index spans several packs. */
async function listPacks(repo: Repo): Promise<Pack[]> {
  const folder = `${repo.dir}/objects/pack`
  const names = new Set(await ignoreMissing(readdir(folder)))
  if (names.has('multi-pack-index')) return []
  const whole = [...names].flatMap((name) => (/^pack-[0-9a-f]{40}\.idx$/.test(name) ? [name.slice(0, -4)] : []))
  const free = whole.filter((name) => !keepSuffixes.some((mark) => names.has(name + mark)))
  const packs = await Promise.all(
    free.map(async (name) => {
      const pack = await ignoreMissing(stat(`${folder}/${name}.pack`))
      return pack === undefined ? [] : [{ name, bytes: pack.size }]
    }),
  )
  return packs.flat()
}

/**
 * Returns the smallest packs that must be merged. Each remaining pack is then twice as large as all smaller ones
 * together. Every object is rewritten about as often as the repository doubles in size. Source: `git repack
 * --geometric=2`.
 */
export function packsToMerge(packs: readonly Pack[]): Pack[] {
  const sorted = [...packs].sort((a, b) => a.bytes - b.bytes)
  let sum = 0
  let count = 0
  let fitting = 0
  for (const [at, { bytes }] of sorted.entries()) {
    if (at > 0 && bytes < 2 * sum) count = at + 1
    sum += bytes
    if (sum <= maxPackBytes) fitting = at + 1
  }
  const merged = Math.min(count, fitting)
  return merged < 2 ? [] : sorted.slice(0, merged)
}

async function mergePacks(repo: Repo, signal: AbortSignal): Promise<void> {
  const packs = packsToMerge(await listPacks(repo))
  if (packs.length === 0) return
  const made = await packObjects(
    repo,
    ['--stdin-packs'],
    packs.map(({ name }) => `${name}.pack`),
    signal,
  )
  for (const { name } of packs.filter((pack) => pack.name !== made)) await removePack(repo, name)
}

/** Makes a pack durably and returns its name. @throws GitError native_failed, storage_error */
export async function packObjects(
  repo: Repo,
  options: string[],
  lines: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const folder = `${repo.dir}/objects/pack`
  const args = [...memoryLimits, 'pack-objects', '--quiet', '--delta-base-offset', ...options, `${folder}/pack`]
  const input = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  const hash = (await runGitOrThrow(repo, args, { input, signal, timeoutMs: gitTimeoutMs, priority: 'background' }))
    .toString('latin1')
    .trim()
  const name = `pack-${hash}`
  if (!/^pack-[0-9a-f]{40}$/.test(name)) throw new GitError('native_failed', 'git pack-objects made no pack', { hash })
  // An operator's `git repack -ad` may already have replaced the pack. Then this throws, and nothing is deleted.
  await stat(`${folder}/${name}.idx`)
  await syncDirectory(folder)
  return name
}

/** Removes the index first, as Git does. A reader ignores a pack without an index. */
export async function removePack(repo: Repo, name: string): Promise<void> {
  for (const suffix of ['.idx', '.rev', '.bitmap', '.mtimes', '.keep', '.pack'])
    await ignoreMissing(unlink(`${repo.dir}/objects/pack/${name}${suffix}`))
}

async function looseRefs(repo: Repo): Promise<number> {
  const names = (await ignoreMissing(readdir(`${repo.dir}/refs`, { recursive: true, withFileTypes: true }))) ?? []
  return names.filter((entry) => entry.isFile()).length
}

/**
 * Makes the packed refs durable before the loose ones are removed. Git takes `packed-refs.lock` and each ref's own
 * lock.
 */
async function packRefs(repo: Repo, signal: AbortSignal): Promise<void> {
  const limits = { signal, timeoutMs: gitTimeoutMs, priority: 'background' } as const
  for (const removal of ['--no-prune', '--prune']) {
    await runGitOrThrow(repo, ['pack-refs', '--all', removal], limits)
    await syncDirectory(repo.dir)
  }
}

async function wantsGraph(repo: Repo, packs: readonly Pack[]): Promise<boolean> {
  if (packs.reduce((sum, { bytes }) => sum + bytes, 0) < minGraphPackBytes || !readRef(repo, main)) return false
  const info = `${repo.dir}/objects/info`
  // A chain of graphs is an operator's.
  if (exists(`${info}/commit-graphs`)) return false
  const graph = await ignoreMissing(stat(`${info}/commit-graph`))
  if (!graph) return true
  const { mtimeMs } = await stat(`${repo.dir}/objects/pack`)
  return mtimeMs > graph.mtimeMs && Date.now() - graph.mtimeMs > maxGraphAgeMs
}

/**
 * Writes the graph only of main, which nothing rewinds, and completely each time. Git reports a fault in a graph that
 * names missing commits. A deleted branch would leave such commits after an operator's `git repack -ad`.
 */
async function writeGraph(repo: Repo, signal: AbortSignal): Promise<void> {
  const input = Buffer.from(`${readRef(repo, main)}\n`)
  const args = [...memoryLimits, 'commit-graph', 'write', '--stdin-commits', '--no-progress']
  await runGitOrThrow(repo, args, { input, signal, timeoutMs: gitTimeoutMs, priority: 'background' })
}
