/** The rights of a visitor, by which pages offer actions. The service checks each action again. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { type Role, roles } from './roles.tsx'

type Org = Pick<AnswerOf<'getOrg'>, 'role' | 'branch_prefix'>
type Node = Pick<AnswerOf<'getNode'>, 'main_needs_pull_request'>
type Pull = Pick<AnswerOf<'getPull'>['pr'], 'source_branch' | 'author_email' | 'consent'>
type OpenPull = Pull & Pick<AnswerOf<'getPull'>['pr'], 'status' | 'merge_reasons'>

/** True if a member with this role may change nodes. */
export function mayWrite(role: string | undefined): boolean {
  return mayPropose(role) && role !== 'contributor'
}

/** True if a member with this role may delete and restore nodes. */
export function mayDelete(role: string | undefined): boolean {
  return role === 'maintainer' || role === 'owner'
}

/** True if a member with this role may propose changes of nodes. */
export function mayPropose(role: string | undefined): boolean {
  return role !== undefined && role !== 'reader'
}

/** True if a member with this role may edit a node at this head. The first version of a node cannot be a proposal. */
export function mayEdit(role: string | undefined, head: string | undefined): boolean {
  return head === undefined ? mayWrite(role) : mayPropose(role)
}

/** True if a member with this role commits to `main` of the node. Other changes are proposed. */
export function maySave({ role }: Pick<Org, 'role'>, { main_needs_pull_request }: Node): boolean {
  return mayWrite(role) && main_needs_pull_request !== true
}

/** True if a member of a listed organisation may merge proposals into `main`. Lists have no rules. */
export function mayMerge({
  role,
  require_pull_requests,
}: Pick<AnswerOf<'getOrg'>, 'role' | 'require_pull_requests'>): boolean {
  return require_pull_requests ? mayDelete(role) : mayWrite(role)
}

/** True if the role is this one or a higher one. */
export function reaches(role: Role, least: Role): boolean {
  const places = [role, least].map((one) => roles.indexOf(one))
  return (places[0] ?? 0) >= (places[1] ?? 0)
}

/** True if the visitor may add commits to the proposal. */
export function mayUpdate(
  { source_branch }: Pick<Pull, 'source_branch'>,
  { role, branch_prefix: prefix }: Org,
): boolean {
  return mayWrite(role) || (prefix !== undefined && source_branch.startsWith(prefix))
}

/** Returns which actions on a proposal the visitor may take. `change`: edit, close or reopen it. */
export function rightsOn(pull: Pull, org: Org, person: PageContext['person']) {
  const { role } = org
  return {
    merge: role !== undefined && reaches(role, pull.consent.merge_role),
    update: mayUpdate(pull, org),
    change: mayWrite(role) || (role === 'contributor' && pull.author_email === person?.email),
  }
}

type ChangeSet = Pick<AnswerOf<'getChangeSet'>['change_set'], 'author_id'>

/** True if the visitor may edit, close or reopen a proposal of several pages. */
export function mayChangeSet({ author_id }: ChangeSet, { role }: Org, person: PageContext['person']): boolean {
  return mayWrite(role) || (role === 'contributor' && author_id !== undefined && author_id === person?.id)
}

/** True if the visitor may edit the proposal in the editor. If its source is `main`, they edit the page. */
export function isEditable(pull: OpenPull, org: Org, person: PageContext['person']): boolean {
  const { status, source_branch, merge_reasons } = pull
  if (status !== 'open' || source_branch === 'main' || merge_reasons.includes('source_branch_missing')) return false
  return rightsOn(pull, org, person).update
}
