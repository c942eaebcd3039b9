/** The users who are asked to review a pull request. */
import { listMembersById } from '../../../index/derived/org-queries.ts'
import { invalid } from '../../base/errors.ts'
import type { Reviewer } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'

/**
 * Returns the members with these ids, each once.
 *
 * @param authorId the author, who cannot review; undefined if unknown
 * @throws ValidationError an id is not a member's, or it is the author's
 */
export async function requireReviewers(
  deps: Pick<Services, 'index'>,
  { org_id: orgId }: OrgAt,
  ids: readonly string[],
  authorId: string | undefined,
): Promise<Pick<Reviewer, 'id' | 'name'>[]> {
  const unique = [...new Set(ids)]
  const members = await listMembersById(deps.index.read, orgId, unique)
  const names = new Map(members.map(({ user_id, name }) => [user_id, name]))
  return unique.map((id) => {
    const name = names.get(id)
    const loc = ['body', 'reviewers', ids.indexOf(id)]
    if (name === undefined) throw invalid(loc, 'This user is not a member of the organisation', id)
    if (id === authorId) throw invalid(loc, 'The author cannot be asked for a review', id)
    return { id, name }
  })
}

/** Adds the time since when each is asked. Earlier reviewers keep their time and name. */
export function withSince(
  members: readonly Pick<Reviewer, 'id' | 'name'>[],
  known: readonly Reviewer[],
  at: string,
): Reviewer[] {
  return members.map(({ id, name }) => known.find((one) => one.id === id) ?? { id, name, since: at })
}
