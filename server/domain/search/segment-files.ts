/**
 * Segments on disk. With them, a start need not read all content again. Missing or damaged segments are rebuilt from
 * rows.
 */
import { readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, replaceFile } from '../../../gitstore/durable.ts'
import { ignoreMissing, listNames } from '../../../gitstore/fs-exists.ts'
import { isTemporary } from '../../../gitstore/temporary-names.ts'
import type { SegmentPair } from '../../../index/search/segments/org-index.ts'
import { decodeSegments, encodeSegments, type Origin } from '../../../index/search/segments/segment-file.ts'

/** The documents whose last change is in (from, to], in versions of the organisation. */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface StoredSegments extends Range {
  readonly segments: SegmentPair
}

type Wanted = Pick<Origin, 'analyzer' | 'epoch'>

const dayMs = 24 * 60 * 60_000
/** The ages at which an unused folder and an unfinished file are removed. */
export const unusedMs = 30 * dayMs
const unfinishedMs = dayMs / 24

function nameOf({ from, to }: Range): string {
  return `${from}-${to}.seg`
}

function rangeOf(name: string): Range | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})\.seg$/.exec(name) ?? []
  return from === undefined || to === undefined ? undefined : { from: Number(from), to: Number(to) }
}

/**
 * Reads the chain of segments from version 0 to at most `version`. The file names give the order: after each file comes
 * the longest one that begins where it ends. Later files hold newer states. Removes useless files.
 *
 * @throws system errors except ENOENT
 */
export async function readSegments(folder: string, wanted: Wanted, version: number): Promise<StoredSegments[]> {
  const ranges = (await listNames(folder)).map(rangeOf).filter((range) => range !== undefined)
  const chain: StoredSegments[] = []
  let at = 0
  for (;;) {
    const next = ranges.filter(({ from, to }) => from === at && to > at && to <= version).sort((a, b) => b.to - a.to)
    const found = await firstReadable(folder, next, wanted)
    if (found === undefined) break
    chain.push(found)
    at = found.to
  }
  for (const range of ranges) {
    const isOfChain = chain.some(({ from, to }) => from === range.from && to === range.to)
    // Later files may continue the chain one day, and newer ones belong to a later state.
    if (!isOfChain && range.from < at && range.to <= version) await rm(join(folder, nameOf(range)), { force: true })
  }
  return chain
}

async function firstReadable(
  folder: string,
  ranges: readonly Range[],
  wanted: Wanted,
): Promise<StoredSegments | undefined> {
  for (const range of ranges) {
    const path = join(folder, nameOf(range))
    // Another process may have merged it into a longer one.
    const content = await ignoreMissing(readFile(path))
    const segments = content && segmentsIn(content, { ...wanted, ...range })
    if (segments) return { ...range, segments }
    if (content) await rm(path, { force: true })
  }
  return undefined
}

/** The segments in a file; undefined if it is damaged or has another origin. */
function segmentsIn(content: Buffer, { analyzer, epoch, from, to }: Origin): SegmentPair | undefined {
  const { origin, segments: [texts, passages] = [] } = decodeSegments(content) ?? {}
  const isWanted = origin?.analyzer === analyzer && origin.epoch === epoch && origin.from === from && origin.to === to
  return isWanted && texts && passages ? { texts, passages } : undefined
}

/**
 * Writes the file if it does not exist, and removes the files that it covers.
 *
 * @throws system errors; GitError storage_full, storage_readonly, storage_error
 */
export async function writeSegments(folder: string, { texts, passages }: SegmentPair, origin: Origin): Promise<void> {
  const { from, to } = origin
  await makeFolder(folder, 0o700)
  const path = join(folder, nameOf(origin))
  const content = await ignoreMissing(readFile(path))
  if (!content || !segmentsIn(content, origin))
    await replaceFile(path, Buffer.concat(encodeSegments([texts, passages], origin)))
  for (const name of await listNames(folder)) {
    const range = rangeOf(name)
    if (range && name !== nameOf(origin) && range.from >= from && range.to <= to)
      await rm(join(folder, name), { force: true })
  }
}

/** Notes that the segments are used. Nothing is lost if the folder is missing, or cannot be changed. */
export async function markUsed(folder: string): Promise<void> {
  const now = new Date() // the file system's clock gives the age of the folder
  await utimes(folder, now, now).catch(() => {})
}

/**
 * Removes unused files. They are folders without an organisation or unused for 30 days, and files unfinished for an
 * hour.
 *
 * @throws system errors; GitError storage_*, busy
 */
export async function removeUnusedSegments(root: string, isOrg: (id: string) => Promise<boolean>): Promise<void> {
  for (const orgId of await listNames(root)) {
    const folder = join(root, orgId)
    if (!(await isOrg(orgId)) || (await ageOf(folder)) > unusedMs) {
      await rm(folder, { recursive: true, force: true })
      continue
    }
    for (const name of await listNames(folder))
      if (isTemporary(name, false) && (await ageOf(join(folder, name))) > unfinishedMs)
        await rm(join(folder, name), { force: true })
  }
}

/** Milliseconds since the last change; 0 if it no longer exists. */
async function ageOf(path: string): Promise<number> {
  const found = await ignoreMissing(stat(path))
  return found === undefined ? 0 : Date.now() - found.mtimeMs // a file's time
}
