/** The commit, author and pull request behind each line and paragraph of a text file. */
import { type BlamedRange, readBlame } from '../../../gitstore/history/blame.ts'
import { blobSize } from '../../../gitstore/objects/blob-stream.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import { timeOf } from '../format/signatures.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { FileAt, Path } from '../targets.ts'
import { type ImmutableAnswer, immutableAnswer } from './immutable-answers.ts'
import { readBounded } from './large-reads.ts'
import { readBlobStart } from './media-types.ts'
import { openMergerSearch } from './merged-by.ts'
import { readTree, resolveRevision } from './revisions.ts'

/** Characters of a commit's first line in the response. */
const summaryCharacters = 500

const tooLarge =
  'The file has over 1 MiB or 20,000 lines, or its history takes longer than 10 seconds. Clone the node and use git blame'

interface BlamedCommit {
  readonly id: Oid
  readonly author: string
  readonly author_email: string | null
  readonly created_at: string
  readonly summary: string
  readonly pull_request?: number
}

interface Paragraph {
  readonly first_line: number
  readonly num_lines: number
  readonly commit_id: Oid
  readonly commit_ids: Oid[]
  readonly text: string
}

interface Blame {
  readonly node_id: string
  readonly commit_id: Oid
  readonly path: string
  readonly object_id: Oid
  readonly num_lines: number
  readonly ranges: {
    first_line: number
    num_lines: number
    commit_id: Oid
    original_line: number
    original_path: string
  }[]
  readonly paragraphs: Paragraph[]
  readonly commits: BlamedCommit[]
}

/**
 * Returns the blame of a file at a revision.
 *
 * @throws AppError branch_not_found, file_not_found, too_large, busy
 * @throws ValidationError the file is not text
 * @throws GitError as readBlame
 */
export async function getBlame(ctx: RequestCtx, { path: at }: Path<FileAt>): Promise<ImmutableAnswer<Blame>> {
  const { path } = at
  const access = await authorizeNode(ctx, at, 'public')
  const { repo, node } = access
  const head = await resolveRevision(access, at.branch)
  const entry = head === null ? undefined : await findEntry(repo, await readTree(repo, head), path)
  if (!head || !entry || entry.mode === '040000' || entry.mode === '160000')
    throw new AppError('file_not_found', 'File not found')
  // Merging a pull request changes what is shown for commits that are older.
  const ledger = access.role === null ? 'public' : node.ledger
  return immutableAnswer(`blame ${node.id} ${head} ${ledger} ${path}`, sizeOf, () =>
    readBounded(ctx, tooLarge, async (bounds) => {
      const size = await blobSize(repo, entry.oid)
      if ((await readBlobStart(repo, entry.oid, size)).includes(0))
        throw invalid(['path', 'path'], 'The file is not text', path)
      const lines = linesOf(await readBlob(repo, entry.oid, limits.blameBytes))
      const ranges = lines.length === 0 ? [] : await readBlame(repo, head, path, bounds)
      const commits = await commitsOf(ctx, access, ranges)
      return {
        ...{ node_id: node.id, commit_id: head, path, object_id: entry.oid, num_lines: lines.length },
        ranges: ranges.map(({ first, count, oid, originalFirst, originalPath }) => ({
          ...{ first_line: first, num_lines: count, commit_id: oid },
          ...{ original_line: originalFirst, original_path: originalPath },
        })),
        paragraphs: paragraphsOf(lines, ranges, commits),
        commits: [...commits.values()],
      }
    }),
  )
}

/** Splits the file into lines, without their line ends. @throws AppError too_large */
function linesOf(bytes: Buffer): string[] {
  const lines = bytes.toString('utf8').split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines.length > limits.blameLines) throw new AppError('too_large', tooLarge)
  return lines
}

/** The commits of the ranges, in the order of the text. */
async function commitsOf(
  deps: Services,
  access: NodeAccess,
  ranges: readonly BlamedRange[],
): Promise<ReadonlyMap<Oid, BlamedCommit>> {
  const findMerger = access.role === null ? undefined : await openMergerSearch(deps, access)
  const commits = new Map<Oid, BlamedCommit>()
  for (const { oid } of ranges) {
    if (commits.has(oid)) continue
    const { author, committer, message } = await readCommit(access.repo, oid)
    const pull_request = await findMerger?.(oid)
    commits.set(oid, {
      id: oid,
      author: author.name,
      author_email: author.email || null,
      created_at: timeOf(committer),
      summary: (message.trimStart().split('\n', 1)[0] ?? '')
        .slice(0, summaryCharacters)
        .replace(/[\ud800-\udbff]$/, ''),
      ...(pull_request === undefined ? {} : { pull_request }),
    })
  }
  return commits
}

/** Splits the text into paragraphs: runs of lines that are not blank. */
function paragraphsOf(
  lines: readonly string[],
  ranges: readonly BlamedRange[],
  commits: ReadonlyMap<Oid, BlamedCommit>,
): Paragraph[] {
  const authors = ranges.flatMap(({ oid, count }) => Array<Oid>(count).fill(oid))
  const paragraphs: Paragraph[] = []
  const add = (first: number, end: number) => {
    const commit_ids = [...new Set(authors.slice(first, end))]
    const newest = commit_ids.toSorted((a, b) => timeIn(commits, b).localeCompare(timeIn(commits, a)))[0]
    if (newest === undefined) return
    const text = lines.slice(first, end).join('\n')
    paragraphs.push({ first_line: first + 1, num_lines: end - first, commit_id: newest, commit_ids, text })
  }
  let first: number | undefined
  for (const [at, line] of lines.entries()) {
    const isBlank = line.trim() === ''
    if (isBlank && first !== undefined) add(first, at)
    if (isBlank) first = undefined
    else first ??= at
  }
  if (first !== undefined) add(first, lines.length)
  return paragraphs
}

function timeIn(commits: ReadonlyMap<Oid, BlamedCommit>, oid: Oid): string {
  return commits.get(oid)?.created_at ?? ''
}

/** The approximate length of its JSON, in characters. */
function sizeOf({ ranges, paragraphs, commits }: Blame): number {
  const texts = paragraphs.reduce((sum, { text, commit_ids }) => sum + 150 + text.length + 43 * commit_ids.length, 0)
  return 400 + ranges.reduce((sum, one) => sum + 150 + one.original_path.length, 0) + 300 * commits.length + texts
}
