/** Chooses which copies become repositories of the data folder: one per id, none without its organisation. */
import type { Repo } from '../../../gitstore/repo.ts'
import type { PathProblem } from '../format/path-problem.ts'

/** A copy below the staging folder, with the identity it contains. */
export interface Copied {
  /** The path of its mirror. */
  readonly path: string
  readonly copy: Repo
  readonly id: string
  /** The same for an organisation. */
  readonly orgId: string
  /** ISO 8601 in UTC; of the organisation or the node. */
  readonly createdAt: string
  /** Why it is damaged. */
  readonly reasons: readonly string[]
}

export interface Chosen {
  readonly copies: readonly Copied[]
  readonly problems: readonly PathProblem[]
}

/**
 * Of several copies of one repository, takes the first. Of nodes with the same id in several organisations, of which only one
 * can be served, takes the one created first: the others reused the id of a deleted node.
 */
export function chooseCopies(all: readonly Copied[]): Chosen {
  const problems: PathProblem[] = []
  const leave = ({ path }: Copied, reason: string): false => {
    problems.push({ path, reason: `left: ${reason}` })
    return false
  }
  const first = new Map<string, Copied>()
  const single = all.filter((one) => {
    const key = `${one.orgId}/${one.id}`
    const other = first.get(key)
    if (other) return leave(one, `${other.path} is a copy of the same`)
    first.set(key, one)
    return true
  })
  const orgs = new Set(single.filter((one) => one.id === one.orgId).map(({ id }) => id))
  const housed = single.filter(
    (one) => orgs.has(one.orgId) || leave(one, `its organisation ${one.orgId} is not among the copies`),
  )
  const holders = new Map<string, Copied>()
  for (const one of housed) {
    const holder = holders.get(one.id)
    if (one.id !== one.orgId && (!holder || isOlder(one, holder))) holders.set(one.id, one)
  }
  const copies = housed.filter((one) => {
    const holder = holders.get(one.id)
    if (one.id === one.orgId || !holder || holder === one) return true
    return leave(one, `its id ${one.id} is that of a node of the organisation ${holder.orgId}, too (${holder.path})`)
  })
  for (const one of copies) problems.push(...one.reasons.map((reason) => ({ path: one.path, reason })))
  return { copies, problems }
}

function isOlder(one: Copied, other: Copied): boolean {
  return Date.parse(one.createdAt) < Date.parse(other.createdAt)
}
