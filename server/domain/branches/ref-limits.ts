/** How many branches and tags a node may have: lists and comparisons go through all of them. */
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'

type RefKind = 'heads' | 'tags'

/** Of each kind. A repository that was put there by other means may have more, and gets none. */
const refsAtMost = 10_000

/** How many more there may be; several who ask at once may each get the last one. */
export function roomFor(repo: Repo, kind: RefKind): number {
  return refsAtMost - listRefs(repo, `refs/${kind}/`).size
}

/** What a node with too many is, as the end of a sentence. */
export function tooMany(kind: RefKind): string {
  return `has ${refsAtMost} ${kind === 'heads' ? 'branches' : 'tags'}, which is the limit; delete some first`
}
