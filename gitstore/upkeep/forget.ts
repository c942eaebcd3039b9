/**
 * Removes the objects that only an earlier tip of a ref reaches. Removes them from loose files and packs. Maintenance
 * never removes an object.
 *
 * A file `erasing/<tip>` marks the repository before the ref moves. It later lists the objects, and the packs that are
 * replaced. A killed process so leaves enough for the next one. The caller holds the lock of maintenance, which would otherwise pack them again.
 */
import { mkdir, readdir, readFile, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { allDone, replaceFile, syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { exists, ignoreMissing, listNames } from '../fs-exists.ts'
import { keepText } from '../history/rewrite.ts'
import { runGitOrThrow } from '../native.ts'
import { hasObject } from '../objects/objects.ts'
import { idsIn } from '../objects/pack-format.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { createYielder } from '../yielder.ts'
import { maxPackBytes, packObjects, removePack } from './maintenance.ts'

const gitTimeoutMs = 60 * 60_000

function folderOf({ dir }: Repo): string {
  return join(dir, 'erasing')
}

/** Lists the tips whose objects are still to be removed. @throws GitError storage_*, busy */
export async function listErasing(repo: Repo): Promise<Oid[]> {
  return (await listNames(folderOf(repo))).filter(isOid).sort()
}

/** Marks a tip before the ref moves away from it, durably. Keeps an earlier mark. @throws GitError storage_* */
export async function markErasing(repo: Repo, tip: Oid): Promise<void> {
  const folder = folderOf(repo)
  await mkdir(folder).then(() => syncDirectory(dirname(folder)), ignoreExisting)
  if (!exists(join(folder, tip))) await replaceFile(join(folder, tip), '')
}

function rethrowStorage(error: unknown): never {
  throw asStorageError(error)
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw asStorageError(error)
}

/** Removes the mark. @throws GitError storage_* */
export async function unmarkErasing(repo: Repo, tip: Oid): Promise<void> {
  const folder = folderOf(repo)
  if (!exists(join(folder, tip))) return
  await rm(join(folder, tip), { force: true }).catch(rethrowStorage)
  await syncDirectory(folder)
}

/**
 * Removes exactly the objects that these tips reach and no ref does. May be repeated after it was killed anywhere.
 * Readers and writers may run: an object that was written again in the meantime stays.
 *
 * @param reflogs refs whose logs name the tips
 * @returns how many objects were removed
 * @throws GitError busy (an object was written again: repeat it), native_failed, object_damaged, storage_*
 */
export async function forget(
  repo: Repo,
  tips: readonly Oid[],
  reflogs: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  // All lists come before the first removal, because tips share objects.
  const lists = []
  for (const tip of tips) {
    const mark = join(folderOf(repo), tip)
    const began = await markTime(repo, tip)
    lists.push({ forgotten: await listForgotten(repo, tip, mark, signal), removal: { began, mark, signal } })
  }
  const removed = new Set<Oid>()
  for (const { forgotten, removal } of lists) {
    await removeAll(repo, forgotten, reflogs, removal)
    const left = await listLeft(repo, forgotten, signal)
    if (left.length > 0)
      throw new GitError('busy', `${left.length} erased objects were written again; repeat the erasure`)
    for (const oid of forgotten) removed.add(oid)
  }
  return removed.size
}

interface Removal {
  /** The file system's time in ms before which the objects were written. */
  readonly began: number
  /** The path of the mark. */
  readonly mark: string
  readonly signal: AbortSignal
}

async function removeAll(
  repo: Repo,
  forgotten: ReadonlySet<Oid>,
  reflogs: readonly string[],
  { began, mark, signal }: Removal,
): Promise<void> {
  try {
    for (const ref of reflogs) await ignoreMissing(unlink(join(repo.dir, 'logs', ref)))
    if (forgotten.size === 0) return
    await removeIndexes(repo, forgotten)
    await removeHalfPacks(repo, mark)
    await filterPacks(repo, forgotten, { began, mark, signal })
    await removeLoose(repo, forgotten, began)
  } catch (error) {
    throw asStorageError(error)
  }
}

/** The file system's time in ms of the last step that was before any removal. */
async function markTime(repo: Repo, tip: Oid): Promise<number> {
  const path = join(folderOf(repo), tip)
  if (!exists(path)) await markErasing(repo, tip)
  return (await stat(path).catch(rethrowStorage)).mtimeMs
}

/** Lists the objects that are to be removed. Makes the list durable in the mark. */
async function listForgotten(repo: Repo, tip: Oid, mark: string, signal: AbortSignal): Promise<Set<Oid>> {
  const listed = new Set(linesOf(await readFile(mark, 'latin1').catch(rethrowStorage)))
  // A writer may have needed one of them since the list was made.
  if (listed.size > 0) return withoutReachable(repo, listed, signal)
  if (!(await hasObject(repo, tip))) return listed
  // Git leaves out only the trees of commits where the histories part. Trees of other commits are left out below.
  await eachObject(repo, [tip, '--not', '--all'], signal, (oid) => listed.add(oid))
  const found = await withoutReachable(repo, listed, signal)
  if (found.size > 0) await replaceFile(mark, `${[...found].join('\n')}\n`)
  return found
}

/** Removes the objects that refs reach from the set. Takes about 5 µs for each object of the repository. */
async function withoutReachable(repo: Repo, objects: Set<Oid>, signal: AbortSignal): Promise<Set<Oid>> {
  if (objects.size > 0) await eachObject(repo, ['--all'], signal, (oid) => objects.delete(oid))
  return objects
}

async function eachObject(
  repo: Repo,
  range: readonly string[],
  signal: AbortSignal,
  take: (oid: Oid) => void,
): Promise<void> {
  let rest = ''
  const takeChunk = (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
    return true
  }
  const args = ['rev-list', '--objects', '--no-object-names', ...range]
  const maxOutputBytes = Number.POSITIVE_INFINITY
  const limits = { signal, timeoutMs: gitTimeoutMs, priority: 'background' } as const
  await runGitOrThrow(repo, args, { take: takeChunk, maxOutputBytes, ...limits })
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(isOid)
}

/** Removes an index over several packs, and graphs that name a removed commit. Git does without them. */
async function removeIndexes(repo: Repo, forgotten: ReadonlySet<Oid>): Promise<void> {
  const packs = join(repo.dir, 'objects', 'pack')
  const spanning = (await listNames(packs)).filter((name) => name.startsWith('multi-pack-index'))
  // The index itself goes first, because its bitmap and its order belong to it.
  for (const name of spanning.sort()) await rm(join(packs, name), { recursive: true, force: true })
  const info = join(repo.dir, 'objects', 'info')
  const chain = join(info, 'commit-graphs')
  const graphs = (await listNames(chain)).filter((name) => name.endsWith('.graph')).map((name) => join(chain, name))
  for (const graph of [join(info, 'commit-graph'), ...graphs]) {
    const bytes = await ignoreMissing(readFile(graph))
    if (!bytes || !(await holdsAny(graphIds(bytes), forgotten))) continue
    await rm(join(info, 'commit-graph'), { force: true })
    await rm(chain, { recursive: true, force: true })
    break
  }
}

/** The ids of a commit-graph, 20 bytes each. Everything, if it has another form. Source: gitformat-commit-graph(5). */
function graphIds(bytes: Buffer): Buffer {
  const chunks = bytes.length > 8 ? bytes.readUInt8(6) : 0
  for (let n = 0; n < chunks && 8 + 12 * (n + 2) <= bytes.length; n++) {
    const at = 8 + 12 * n
    if (bytes.toString('latin1', at, at + 4) !== 'OIDL') continue
    return bytes.subarray(Number(bytes.readBigUInt64BE(at + 4)), Number(bytes.readBigUInt64BE(at + 16)))
  }
  return bytes
}

async function holdsAny(ids: Buffer, wanted: ReadonlySet<Oid>): Promise<boolean> {
  const pace = createYielder()
  for (let at = 0; at + 20 <= ids.length; at += 20) {
    if (wanted.has(ids.toString('hex', at, at + 20))) return true
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  return false
}

interface PackToReplace {
  readonly name: string
  readonly bytes: number
  readonly mtimeMs: number
  readonly kept: readonly Oid[]
  /** An operator's mark, which the new pack gets. */
  readonly keep?: string
}

/** Replaces packs that hold a removed object, and those that the rewriting has made. */
async function filterPacks(repo: Repo, forgotten: ReadonlySet<Oid>, removal: Removal): Promise<void> {
  const found: PackToReplace[] = []
  for (const name of await listPackNames(repo)) {
    const pack = await readPack(repo, name, forgotten)
    if (pack) found.push(pack)
  }
  const small = found.filter(({ keep, bytes }) => keep === undefined && bytes < maxPackBytes)
  const fits = small.reduce((sum, { bytes }) => sum + bytes, 0) <= maxPackBytes
  const groups = fits
    ? [small, ...found.filter((one) => !small.includes(one)).map((one) => [one])]
    : found.map((one) => [one])
  for (const group of groups) await replacePacks(repo, group, removal)
}

async function listPackNames(repo: Repo): Promise<string[]> {
  const names = await listNames(join(repo.dir, 'objects', 'pack'))
  return names.flatMap((name) => (/^pack-[0-9a-f]{40}\.idx$/.test(name) ? [name.slice(0, -4)] : [])).sort()
}

/** Returns the pack if it must be replaced. */
async function readPack(repo: Repo, name: string, forgotten: ReadonlySet<Oid>): Promise<PackToReplace | undefined> {
  const path = join(repo.dir, 'objects', 'pack', name)
  const index = await ignoreMissing(readFile(`${path}.idx`))
  const file = await ignoreMissing(stat(`${path}.pack`))
  if (!index || !file) return undefined
  const ids = idsIn(index)
  if (!ids) throw new GitError('object_damaged', `The index of ${name} has an unknown form; run git repack -ad`)
  const mark = await ignoreMissing(readFile(`${path}.keep`, 'latin1'))
  const kept: Oid[] = []
  const pace = createYielder()
  for (let at = 0; at < ids.length; at += 20) {
    const oid = ids.toString('hex', at, at + 20)
    if (!forgotten.has(oid)) kept.push(oid)
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  const isOurs = mark === keepText
  if (!isOurs && kept.length * 20 === ids.length) return undefined
  const { size: bytes, mtimeMs } = file
  return { name, bytes, mtimeMs, kept, ...(mark !== undefined && !isOurs && { keep: mark }) }
}

/** @throws GitError busy: a writer has just needed an object of a pack */
async function replacePacks(
  repo: Repo,
  group: readonly PackToReplace[],
  { began, mark, signal }: Removal,
): Promise<void> {
  const folder = join(repo.dir, 'objects', 'pack')
  const kept = [...new Set(group.flatMap((pack) => pack.kept))]
  const made = kept.length > 0 ? await packObjects(repo, [], kept, signal) : undefined
  const keep = group.find((pack) => pack.keep !== undefined)?.keep
  if (made !== undefined && keep !== undefined) await replaceFile(join(folder, `${made}.keep`), keep)
  const replaced = group.filter(({ name }) => name !== made)
  await nameReplaced(mark, replaced)
  for (const { name, mtimeMs } of replaced) {
    // Git freshens a pack when a push has an object of it.
    const now = await ignoreMissing(stat(join(folder, `${name}.pack`)))
    if (now && now.mtimeMs !== mtimeMs && now.mtimeMs > began)
      throw new GitError('busy', 'A push uses a pack of the repository; repeat the erasure')
    await removePack(repo, name)
  }
  if (made !== undefined && group.some(({ name }) => name === made) && keep === undefined)
    await rm(join(folder, `${made}.keep`), { force: true })
  if (group.length > 0) await syncDirectory(folder)
}

/** Adds packs to the mark before they are removed. */
async function nameReplaced(mark: string, packs: readonly PackToReplace[]): Promise<void> {
  const text = await readFile(mark, 'latin1')
  if (packs.length > 0) await replaceFile(mark, `${text}${packs.map(({ name }) => `${name}\n`).join('')}`)
}

/** Removes the packs of which a killed process has only removed the index. Git does not see them. */
async function removeHalfPacks(repo: Repo, mark: string): Promise<void> {
  for (const name of (await readFile(mark, 'latin1')).split('\n').filter((line) => line.startsWith('pack-')))
    if (!exists(join(repo.dir, 'objects', 'pack', `${name}.idx`))) await removePack(repo, name)
}

/** Removes loose files. A file that a writer has made or freshened since `began` stays. */
async function removeLoose(repo: Repo, forgotten: ReadonlySet<Oid>, began: number): Promise<void> {
  const objects = join(repo.dir, 'objects')
  const fanOuts = new Set((await readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name)))
  const changed = new Set<string>()
  for (const fanOut of fanOuts) {
    for (const name of await listNames(join(objects, fanOut))) {
      if (!forgotten.has(fanOut + name)) continue
      const path = join(objects, fanOut, name)
      const file = await ignoreMissing(stat(path))
      if (!file || file.mtimeMs > began) continue
      await ignoreMissing(unlink(path))
      changed.add(fanOut)
    }
  }
  await allDone([...changed].map((fanOut) => ignoreMissing(syncDirectory(join(objects, fanOut)))))
}

/** Lists the objects that still exist and that no ref reaches. */
async function listLeft(repo: Repo, forgotten: ReadonlySet<Oid>, signal: AbortSignal): Promise<Oid[]> {
  if (forgotten.size === 0) return []
  const input = Buffer.from(`${[...forgotten].join('\n')}\n`)
  const args = ['cat-file', '--buffer', '--batch-check=%(objectname)']
  const out = await runGitOrThrow(repo, args, { input, signal, timeoutMs: gitTimeoutMs, priority: 'background' })
  return [...(await withoutReachable(repo, new Set(linesOf(out.toString('latin1'))), signal))]
}
