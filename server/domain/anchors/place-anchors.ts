/** Places anchors on the current commits of a pull request. Reads and compares each pair of files once. */
import { createSemaphore } from '../../../gitstore/concurrency/semaphore.ts'
import { findRenames } from '../../../gitstore/objects/renames.ts'
import type { TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder, entriesPerTurn, type Yielder } from '../../../gitstore/yielder.ts'
import { AppError } from '../../base/errors.ts'
import { findTree, readTree } from '../branches/revisions.ts'
import type { Anchor } from '../format/anchors.ts'
import { findFile, findKept, hasText } from './anchored-files.ts'
import { FilePair } from './file-pair.ts'

/** The current place of an anchor. Lines are counted from 1. */
interface Place {
  readonly commit: Oid
  readonly path: string
  readonly first_line?: number
  readonly num_lines?: number
  readonly pointer?: string
}

/** `near` is the line where outdated lines were, if the file still exists. */
export type Placed =
  | { readonly outdated: false; readonly place: Place }
  | {
      readonly outdated: true
      readonly near?: { readonly commit: Oid; readonly path: string; readonly first_line: number }
    }

export interface PresentCommits {
  /** The head of the source. */
  readonly head: Oid
  /** The merge base with the target; null if there is none. */
  readonly base: Oid | null
  /** True if the commit is `base` or one of its ancestors. A missing commit is not. */
  isInBase(commit: Oid): Promise<boolean>
}

/** Anchors placed between two turns of the event loop. */
const anchorsPerTurn = 200
/** Milliseconds for a search of renames, and after which none is started. Files that are gone are then outdated. */
const renameMs = 10_000

/** Limits Git processes that search renames. */
const renameSemaphore = createSemaphore({
  running: 2,
  waiting: {
    timeoutMs: 30_000,
    refusal: () => new AppError('busy', 'Too many renames are being searched; try again in a moment'),
  },
})

/**
 * Places anchors on the head. An anchor that is outdated there is placed on the base, if the base has its commit. It is
 * then about lines that the pull request removes. Returns the results in the order of `anchors`.
 *
 * @throws AppError busy
 * @throws GitError object_missing, object_damaged: `head` or `base`; and the errors of findRenames
 */
export async function placeAnchors(
  repo: Repo,
  { head, base, isInBase }: PresentCommits,
  anchors: readonly Anchor[],
): Promise<Placed[]> {
  const pace = createYielder()
  const placed = await placeOn(repo, head, anchors, pace)
  if (base === null || base === head) return placed
  const answers = new Map<Oid, boolean>()
  const old: number[] = []
  for (const [at, { commit }] of anchors.entries()) {
    if (!placed[at]?.outdated) continue
    if (!answers.has(commit)) answers.set(commit, await isInBase(commit))
    if (answers.get(commit)) old.push(at)
  }
  const onBase = await placeOn(
    repo,
    base,
    old.flatMap((at) => anchors[at] ?? []),
    pace,
  )
  for (const [n, at] of old.entries()) {
    const found = onBase[n]
    if (found?.outdated === false) placed[at] = found
  }
  return placed
}

/** The anchors of one file of one commit. */
interface AnchoredFile {
  readonly commit: Oid
  readonly path: string
  readonly anchors: { readonly at: number; readonly anchor: Anchor }[]
  /** Undefined if the commit or the file is missing. */
  before?: TreeEntry | undefined
  after?: { readonly path: string; readonly entry: TreeEntry } | undefined
}

async function placeOn(repo: Repo, target: Oid, anchors: readonly Anchor[], pace: Yielder): Promise<Placed[]> {
  const files = filesOf(anchors)
  await findFiles(repo, target, files, pace)
  const placed: Placed[] = anchors.map(() => ({ outdated: true }))
  for (const file of files) {
    const { before, after } = file
    if (!before || !after) continue
    const pair = new FilePair(repo, before, after.entry)
    for (const { at, anchor } of file.anchors) {
      placed[at] = await placeOne(pair, { commit: target, path: after.path }, anchor)
      if (pace.shouldYield(entriesPerTurn / anchorsPerTurn)) await pace.yieldToEventLoop()
    }
    if (pair.hasRead) await pace.yieldToEventLoop()
  }
  return placed
}

function filesOf(anchors: readonly Anchor[]): AnchoredFile[] {
  const files = new Map<string, AnchoredFile>()
  for (const [at, anchor] of anchors.entries()) {
    const { commit, path } = anchor
    const key = `${commit}:${path}`
    const file: AnchoredFile = files.get(key) ?? { commit, path, anchors: [] }
    file.anchors.push({ at, anchor })
    files.set(key, file)
  }
  return [...files.values()]
}

/** Finds each file in its own commit and at the target. It may have another path there. */
async function findFiles(repo: Repo, target: Oid, files: readonly AnchoredFile[], pace: Yielder): Promise<void> {
  const to = await readTree(repo, target)
  const gone = new Map<Oid, AnchoredFile[]>()
  for (const file of files) {
    const from = await findTree(repo, file.commit)
    file.before = from === null ? undefined : await findKept(repo, from, file.path)
    const entry = file.before && (await findFile(repo, to, file.path))
    if (entry) file.after = { path: file.path, entry }
    else if (from !== null && file.before) gone.set(from, [...(gone.get(from) ?? []), file])
    if (pace.shouldYield(entriesPerTurn / anchorsPerTurn)) await pace.yieldToEventLoop()
  }
  const end = performance.now() + renameMs
  for (const [from, some] of gone) {
    const paths = some.map(({ path }) => path)
    if (performance.now() > end) break
    const renames = await renameSemaphore.run({}, () => findRenames(repo, { from, to }, paths, { timeoutMs: renameMs }))
    for (const file of some) {
      const path = renames.get(file.path)
      const entry = path === undefined ? undefined : await findFile(repo, to, path)
      if (path !== undefined && entry) file.after = { path, entry }
    }
  }
}

async function placeOne(
  pair: FilePair,
  at: { readonly commit: Oid; readonly path: string },
  anchor: Anchor,
): Promise<Placed> {
  const { first_line, num_lines = 1, quote, pointer } = anchor
  if (pointer === undefined && first_line === undefined) return { outdated: false, place: at }
  if (!hasText(pair.before) || !hasText(pair.after)) return { outdated: true }
  if (pointer !== undefined) {
    const found = await pair.placePointer(pointer)
    if (found?.isSame) return { outdated: false, place: { ...at, pointer } }
    return { outdated: true, ...(found?.near === undefined ? {} : { near: { ...at, first_line: found.near + 1 } }) }
  }
  if (first_line === undefined) return { outdated: true }
  const found = await pair.placeLines({ from: first_line - 1, to: first_line - 1 + num_lines }, quote)
  if (found?.isOutdated === false) {
    const { from, to } = found.lines
    return { outdated: false, place: { ...at, first_line: from + 1, num_lines: to - from } }
  }
  return { outdated: true, ...(found?.near === undefined ? {} : { near: { ...at, first_line: found.near + 1 } }) }
}
