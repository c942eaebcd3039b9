/** A person's account, without its secrets. */

import type { Account } from '../../index/records/schema.ts'
import type { Person } from './actor.ts'

export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly created_at: string
  /** The personal organisation. */
  readonly org_id?: string
}

/** What a row of account says of its person. */
export type Profile = Pick<Account, 'id' | 'email' | 'name' | 'created_at' | 'org_id'>

export function userOf({ id, email, name, created_at, org_id }: Profile): User {
  return { id, email, name, created_at, ...(org_id === null ? {} : { org_id }) }
}

export function personOf({ id, email, name }: Profile): Person {
  return { kind: 'person', id, email, name }
}
