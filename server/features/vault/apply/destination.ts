/** The target of an import: the local data folder, or a remote Grove (`remote/`). */

import type { Person } from '../../../domain/actor.ts'
import { readOrgTypes } from '../../../domain/branches/type-rules.ts'
import { adoptVault, createOrg, getOrg, listOrgs } from '../../../domain/orgs/orgs.ts'
import type { Ctx } from '../../../domain/services.ts'
import type { OrgTypes } from '../../../domain/types/org-types.ts'
import type { KnownContent, KnownNode } from '../plan/inventory.ts'
import type { Candidate } from '../plan/organisation.ts'
import type { Imported } from '../plan/summary.ts'
import { applyImport, type ImportInput } from './imports.ts'
import { contentsOf, listKnownNodes, takenElsewhere } from './known-nodes.ts'
import { findRememberedImport, type RememberedImport, rememberImport, stateOfOrg } from './remembered-imports.ts'

/** The operations that an import needs, in the name of one user. Error messages are for that user. */
export interface Destination {
  /** The part of the command line that selects this destination. */
  readonly words: readonly string[]
  /** Lists the organisations of the user, oldest first. */
  listOrgs(): Promise<readonly Candidate[]>
  readOrg(orgId: string): Promise<Candidate>
  createOrg(org: { readonly name: string; readonly vault_id?: string }): Promise<{ readonly id: string }>
  /** Records the vault of an organisation that has none. Returns a message if that was not possible. */
  adoptVault(orgId: string, vaultId: string): Promise<string | undefined>
  /**
   * Lists all nodes, oldest first. A node has a path if this vault, or the organisation's own, created it.
   *
   * @param guest the vault, if the organisation belongs to another one
   */
  knownNodes(orgId: string, guest: string | undefined): Promise<readonly KnownNode[]>
  /** Reads the types of the organisation. */
  readTypes(orgId: string): Promise<OrgTypes>
  /** Reads the contents of these nodes on main, in any order. */
  contentsOf(orgId: string, ids: readonly string[]): AsyncIterable<KnownContent>
  /** Returns the ids that nodes of other organisations have, as far as can be known. */
  takenElsewhere(orgId: string, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Returns a string that changes with the organisation and its nodes. Undefined if that requires reading them all. */
  stateOfOrg(orgId: string): Promise<string | undefined>
  /** Returns the summary of the last import that found everything unchanged. */
  recall(orgId: string): Promise<RememberedImport | undefined>
  remember(orgId: string, remembered: RememberedImport): Promise<void>
  /** Returns the URL of a change set. */
  proposalAt(orgId: string, number: number): string
  /** Writes the plan, like applyImport. */
  write(orgId: string, input: ImportInput): Promise<Imported>
}

/** Largest number of a user's organisations that are searched for the vault's. */
const maxOrgs = 10_000

/** Returns the local data folder as a destination. */
export function localDestination(ctx: Ctx<Person>): Destination {
  return {
    words: ['--as', ctx.actor.email],
    listOrgs: async () => (await listOrgs(ctx, { query: { limit: maxOrgs, offset: 0 } })).orgs,
    readOrg: (orgId) => getOrg(ctx, { path: { org_id: orgId } }),
    createOrg: (org) => createOrg(ctx, { body: org }),
    adoptVault: async (orgId, vaultId) => {
      await adoptVault(ctx, { org_id: orgId }, vaultId)
      return undefined
    },
    knownNodes: (orgId, guest) => listKnownNodes(ctx, orgId, guest),
    readTypes: (orgId) => readOrgTypes(ctx, orgId),
    contentsOf: (_orgId, ids) => contentsOf(ctx, ids),
    takenElsewhere: (orgId, ids) => takenElsewhere(ctx, orgId, ids),
    stateOfOrg: (orgId) => stateOfOrg(ctx, orgId),
    recall: (orgId) => findRememberedImport(ctx, orgId),
    remember: (orgId, remembered) => rememberImport(ctx, orgId, remembered),
    proposalAt: (orgId, number) => `${ctx.config.publicUrl ?? ''}/o/${orgId}/proposals/${number}`,
    write: (orgId, input) => applyImport(ctx, { org_id: orgId }, input),
  }
}
