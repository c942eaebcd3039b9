/** The recent changes of an organisation: its nodes by their latest commit on main. */
import { isGitError } from '../../../gitstore/errors.ts'
import { countNodesByChange, listNodesByChange } from '../../../index/derived/node-queries.ts'
import { authorizeOrg } from '../access.ts'
import { type Commit, readCommits, withinPage } from '../branches/commit-views.ts'
import { slugOf } from '../format/slug.ts'
import { nodeRepo } from '../layout.ts'
import { timeAndId } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'

interface ChangesQuery {
  readonly limit: number
  /** The `next` of the page before. */
  readonly before?: string
  /** Only what is newer than this place. */
  readonly after?: string
}

/** The number up to which nodes are counted. */
const mostCounted = 10_000

/**
 * Lists the nodes, last changed first, each with its latest commit. Reads one commit for each node of the page.
 *
 * @throws AppError as authorizeOrg
 */
export async function listChanges(ctx: Ctx, { path, query: { limit, ...ends } }: Path<OrgAt> & Query<ChangesQuery>) {
  const { read } = ctx.index
  const { sees } = await authorizeOrg(ctx, path, 'public')
  const range = { before: placeOf(ends.before), after: placeOf(ends.after) }
  const rows = await listNodesByChange(read, sees, range, limit + 1)
  const page = rows.slice(0, limit)
  const commits = await Promise.all(page.map(({ id, head }) => readHead(ctx, path, id, head)))
  const kept = new Map(withinPage(commits.filter((one) => one !== undefined)).map((one) => [one.node_id, one]))
  const changes = page.map(({ id, head, ...row }) => {
    const commit = kept.get(id)
    return { node_id: id, ...row, slug: slugOf(row.title), ...(commit && { commit }) }
  })
  const last = page.at(-1)
  return {
    ...{ changes, limit },
    ...(last && rows.length > limit && { next: `${last.updated_at}~${last.id}` }),
    ...(range.after && { total: await countNodesByChange(read, sees, range, mostCounted) }),
  }
}

function placeOf(sent: string | undefined) {
  if (sent === undefined) return undefined
  const { time, id } = timeAndId(sent)
  return { updated_at: time, id }
}

/** Reads the commit. A node that was just deleted, or is damaged, must not hide the others. */
async function readHead(
  { store }: Services,
  { org_id: orgId }: OrgAt,
  nodeId: string,
  head: string | null,
): Promise<Commit | undefined> {
  if (head === null) return undefined
  const [commit] = await readCommits(nodeRepo(store, orgId, nodeId), nodeId, [head]).catch((error: unknown) => {
    if (isGitError(error, 'repo_missing', 'object_missing', 'object_damaged')) return []
    throw error
  })
  return commit
}
