/** The maximum number of branches and tags of a node: lists and comparisons read all of them. */
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'

type RefKind = 'heads' | 'tags'

/** Per kind. A repository from elsewhere may have more, and then gets no new ones. */
const maxRefs = 10_000

/** How many more may be created. Concurrent requests may each take the last one. */
export function roomFor(repo: Repo, kind: RefKind): number {
  return maxRefs - listRefs(repo, `refs/${kind}/`).size
}

/** The end of a sentence about a node with too many. */
export function tooMany(kind: RefKind): string {
  return `has ${maxRefs} ${kind === 'heads' ? 'branches' : 'tags'}, which is the limit; delete some first`
}
