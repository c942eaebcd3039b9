/** Describes moves of branches and tags as events. */

import { isGitError } from '../../../gitstore/errors.ts'
import type { History } from '../../../gitstore/history/history.ts'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { EventType } from '../../base/event-types.ts'
import { timeOf } from '../format/signatures.ts'
import { branchName, branchRefs, tagRefs } from '../layout.ts'
import type { EventFacts } from './event-facts.ts'

/** The most characters of a commit's subject in an event. */
const subjectCharacters = 200

export interface RefMove {
  readonly ref: string
  readonly before: Oid | null
  readonly after: Oid | null
}

/** Describes the move of a branch or a tag. The caller adds the key, the time and who did it. */
export async function refFacts(
  repo: Repo,
  history: History,
  { ref, before, after }: RefMove,
): Promise<Pick<EventFacts, 'type' | 'data'>> {
  const isBranch = ref.startsWith(branchRefs)
  const act = before === null ? 'created' : after === null ? 'deleted' : 'updated'
  const type: EventType = `${isBranch ? 'branch' : 'tag'}.${act}`
  const name = isBranch ? branchName(ref) : ref.slice(tagRefs.length)
  const head = after === null || !isBranch ? undefined : await headOf(repo, after)
  return {
    type,
    data: {
      name,
      ...(before !== null && { before }),
      ...(after !== null && { after }),
      ...(isBranch && before !== null && after !== null && (await distance(repo, history, before, after))),
      ...(head && { head }),
    },
  }
}

async function headOf(repo: Repo, oid: Oid): Promise<object | undefined> {
  const commit = await findCommit(repo, oid)
  if (!commit) return undefined
  const [subject = ''] = commit.message.split('\n', 1)
  const message = [...subject.slice(0, 2 * subjectCharacters)].slice(0, subjectCharacters).join('')
  return { id: oid, message, author: commit.author.name, created_at: timeOf(commit.committer) }
}

/** How far a branch has moved. A commit that is gone was left by a forced move. */
async function distance(repo: Repo, history: History, before: Oid, after: Oid): Promise<object> {
  try {
    const { parents } = await readCommit(repo, after)
    if (parents.length === 1 && parents[0] === before) return { forced: false, commits: 1 }
    const { ahead, behind } = await history.divergence(before, after)
    return { forced: behind > 0, commits: ahead }
  } catch (error) {
    if (isGitError(error, 'object_missing')) return { forced: true }
    throw error
  }
}
