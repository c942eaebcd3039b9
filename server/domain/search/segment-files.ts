/** Segments on disk, so that a start does not read every text again. Whatever is missing or damaged is made from the rows. */
import { readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, replaceFile } from '../../../gitstore/durable.ts'
import { ignoreMissing, listNames } from '../../../gitstore/fs-exists.ts'
import { isTemporary } from '../../../gitstore/temporary-names.ts'
import type { SegmentPair } from '../../../index/search/segments/org-index.ts'
import { decodeSegments, encodeSegments, type Origin } from '../../../index/search/segments/segment-file.ts'

/** The documents that changed last in (from, to], by the organisation's versions. */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface StoredSegments extends Range {
  readonly segments: SegmentPair
}

type Wanted = Pick<Origin, 'analyzer' | 'epoch'>

const dayMs = 24 * 60 * 60_000
/** Age at which a folder is removed that no process has read since, and the age of an unfinished file. */
const unusedMs = 30 * dayMs
const unfinishedMs = dayMs / 24

function nameOf({ from, to }: Range): string {
  return `${from}-${to}.seg`
}

function rangeOf(name: string): Range | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})\.seg$/.exec(name) ?? []
  return from === undefined || to === undefined ? undefined : { from: Number(from), to: Number(to) }
}

/**
 * The names say how the files follow each other: from version 0 on always the longest that begins where the last one ends, up
 * to `version`. Later ones hold newer states. Files that are of no use are removed. @throws system errors but ENOENT
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
    // Later ones may follow the chain one day, newer ones belong to a later state.
    if (!isOfChain && range.from < at && range.to <= version) await rm(join(folder, nameOf(range)), { force: true })
  }
  if (chain.length > 0) await markUsed(folder)
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

/** Undefined where the file is damaged, or of something else. */
function segmentsIn(content: Buffer, { analyzer, epoch, from, to }: Origin): SegmentPair | undefined {
  const { origin, segments: [texts, passages] = [] } = decodeSegments(content) ?? {}
  const isWanted = origin?.analyzer === analyzer && origin.epoch === epoch && origin.from === from && origin.to === to
  return isWanted && texts && passages ? { texts, passages } : undefined
}

/** Writes the file unless it is there already, then removes those that it covers. @throws system errors; GitError storage_full, storage_readonly, storage_error */
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

async function markUsed(folder: string): Promise<void> {
  const now = new Date() // as the file system tells the age of the folder
  await utimes(folder, now, now).catch(() => {})
}

/** Removes folders of no organisation, folders unused for 30 days, and files unfinished for an hour. @throws system errors; GitError storage_*, busy */
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

/** Milliseconds since it was changed; 0 where it is gone. */
async function ageOf(path: string): Promise<number> {
  const found = await ignoreMissing(stat(path))
  return found === undefined ? 0 : Date.now() - found.mtimeMs // a file's time
}
