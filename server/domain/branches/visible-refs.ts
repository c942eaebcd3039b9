/** Which refs an audience sees, in lists, as names of commits, and in a clone. */

import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { branchRefs, main, tagRefs } from '../layout.ts'

export type Audience = 'owner' | 'member' | 'public'

/** By audience, single refs and, with a slash at their end, folders of refs. The service's own are for owners. */
const visible: Readonly<Record<Audience, readonly string[]>> = {
  public: [main, tagRefs],
  member: [branchRefs, tagRefs],
  owner: ['refs/'],
}

/** @param role null: none, of what is published */
export function audienceOf(role: Role | null): Audience {
  if (role === null) return 'public'
  return role === 'owner' ? 'owner' : 'member'
}

export function seesRef(audience: Audience, ref: string): boolean {
  return visible[audience].some((place) => (isFolder(place) ? ref.startsWith(place) : ref === place))
}

/** By name. A single ref is read alone, whatever the number of others. */
export function listVisibleRefs(repo: Repo, audience: Audience): Map<string, Oid> {
  const refs = visible[audience].flatMap((place) => {
    if (isFolder(place)) return [...listRefs(repo, place)]
    const oid = readRef(repo, place)
    return oid === null ? [] : [[place, oid] as const]
  })
  return new Map(refs)
}

/** As git's `transfer.hideRefs` takes it: these, and all below them. Below a single ref that exists there is none. */
export function visiblePlaces(repo: Repo, audience: Audience): readonly string[] {
  return visible[audience].filter((place) => isFolder(place) || readRef(repo, place) !== null)
}

function isFolder(place: string): boolean {
  return place.endsWith('/')
}
