/** A person's account, without its secrets. */

import type { Profile } from '../../../index/credentials/accounts.ts'
import type { Deps } from '../../deps.ts'
import { findOrg } from '../access.ts'
import type { Person } from '../actor.ts'

export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly created_at: string
  /** The personal organisation; absent once it is deleted. */
  readonly org_id?: string
}

export async function userOf(deps: Deps, { id, email, name, created_at, org_id }: Profile): Promise<User> {
  const org = await findOrg(deps, org_id)
  return { id, email, name, created_at, ...(org ? { org_id } : {}) }
}

export function personOf({ id, email, name }: Profile): Person {
  return { kind: 'person', id, email, name }
}
