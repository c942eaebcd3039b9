/** The changes of a proposal since a head that was reviewed. */

import type { VNode } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type FileChange, FileDiffs, readText } from '../text/diff.tsx'
import { isOwn, type Talk } from './talk.ts'

type Since = AnswerOf<'getPullChangesSince'>
type Entity = NonNullable<Since['text']>['entities'][number]

/** Maximum files and reviews that are read. */
const most = { files: 30, reviews: 200 } as const

export interface SinceShown {
  /** The reviewed head. */
  readonly commit: string
  /** Undefined if the head is not known any more. */
  readonly since: Since | undefined
  readonly files: readonly FileChange[]
}

/** Reads the changes since the head in the query. The base is that of the review of this head, the visitor's first. */
export async function readSince(
  { visit, at, pr }: Pick<Talk, 'visit' | 'at' | 'pr'>,
  commit: string,
): Promise<SinceShown> {
  const { api, query } = visit
  const path = { ...at.path, number: pr.number }
  if (!/^[0-9a-f]{40}$/.test(commit)) return { commit, since: undefined, files: [] }
  const { reviews } = await api.listReviews({ path, query: { limit: most.reviews } })
  const ofHead = reviews.filter(({ head_commit }) => head_commit === commit)
  const own = ofHead.findLast(({ author_id }) => author_id !== undefined && author_id === visit.person?.id)
  const base = query.get('base') || (own ?? ofHead.at(-1))?.base_commit
  try {
    const asked = { commit, text: 'true' as const, ...(base && /^[0-9a-f]{40}$/.test(base) && { base }) }
    const since = await api.getPullChangesSince({ path, query: asked })
    const files: FileChange[] = []
    for (const entity of since.text?.entities.slice(0, most.files) ?? [])
      files.push(await toFileChange(entity, (file) => readText(api, at.path, since.source_commit, file)))
    return { commit, since, files }
  } catch (error) {
    const isGone =
      error instanceof AppError && ['commit_not_found', 'branch_not_found', 'too_large'].includes(error.code)
    if (isGone) return { commit, since: undefined, files: [] }
    throw error
  }
}

/** Computes the old text from the new one and the hunks. It may be in no commit. */
async function toFileChange(
  { change, entity_key: path, hunks, truncated }: Entity,
  read: (path: string) => Promise<string | undefined>,
): Promise<FileChange> {
  const kind = change === 'renamed' ? 'modified' : change
  const unknown = { path, kind, before: undefined, after: undefined }
  if (hunks === undefined || truncated) return unknown
  const after = kind === 'removed' ? '' : await read(path)
  if (after === undefined) return unknown
  const lines = after.split('\n')
  for (const { new_start, new_lines, lines: changed } of hunks.toReversed()) {
    const old = changed.filter((line) => line.kind !== 'added').map(({ text }) => text)
    lines.splice(new_lines === 0 ? new_start : new_start - 1, new_lines, ...old)
  }
  return { path, kind, before: lines.join('\n'), after }
}

export function SinceView({ talk, shown }: { readonly talk: Talk; readonly shown: SinceShown }): VNode {
  const { commit, since, files } = shown
  const head = <span class="sha">{commit.slice(0, 8)}</span>
  if (since === undefined)
    return <p class="notice">The version {head} is not available any more, so its differences cannot be shown.</p>
  const total = since.text?.total ?? files.length
  return (
    <>
      <p class="notice">
        {total === 0 ? 'Nothing has changed' : 'These are the changes'} since{' '}
        {isReviewer(talk, commit) ? 'your' : 'the'} review of {head}
        {total === 0 ? ': the proposal still makes the same change.' : '.'}{' '}
        {since.basis === 'heads' &&
          'They include changes of the target, because that version cannot be merged with it. '}
        <a href="?">All changes</a>
      </p>
      <FileDiffs files={files} />
      {total > files.length && <p class="why">and {total - files.length} more</p>}
    </>
  )
}

function isReviewer(talk: Talk, commit: string): boolean {
  return talk.pr.consent.verdicts.some((verdict) => verdict.head_commit === commit && isOwn(talk, verdict))
}
