/** The refs that an audience sees in lists, in names of commits and in clones. */

import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { branchRefs, main, tagRefs } from '../layout.ts'

export type Audience = 'owner' | 'member' | 'public'

/** Visible refs by audience: single refs, and folders of refs with a final slash. Only owners see the service's own. */
const visible: Readonly<Record<Audience, readonly string[]>> = {
  public: [main, tagRefs],
  member: [branchRefs, tagRefs],
  owner: ['refs/'],
}

/** The audience of a role. @param role null: not a member, who sees only published content */
export function audienceOf(role: Role | null): Audience {
  if (role === null) return 'public'
  return role === 'owner' ? 'owner' : 'member'
}

export function seesRef(audience: Audience, ref: string): boolean {
  return visible[audience].some((place) => (isFolder(place) ? ref.startsWith(place) : ref === place))
}

/**
 * Lists the visible refs by name. Reads a single ref directly, without a list of all refs.
 *
 * @param tags the visible tags, by full name; undefined: all
 */
export function listVisibleRefs(repo: Repo, audience: Audience, tags?: ReadonlyMap<string, Oid>): Map<string, Oid> {
  const refs = visible[audience].flatMap((place) => {
    if (tags && place === tagRefs) return [...tags]
    if (isFolder(place)) return [...listRefs(repo, place)]
    const oid = readRef(repo, place)
    return oid === null ? [] : [[place, oid] as const]
  })
  return new Map(refs)
}

/**
 * The visible refs as git's `transfer.hideRefs` names them, each with all refs below it. There is no ref below a single
 * ref that exists.
 */
export function visiblePlaces(repo: Repo, audience: Audience, tags?: ReadonlyMap<string, Oid>): readonly string[] {
  const places = visible[audience].filter((place) => isFolder(place) || readRef(repo, place) !== null)
  return tags ? [...places.filter((place) => place !== tagRefs), ...tags.keys()] : places
}

function isFolder(place: string): boolean {
  return place.endsWith('/')
}
