/** The organisation's side of an import: the data folder of this machine, or a Grove elsewhere (`remote/`). */
import type { Deps } from '../../base/deps.ts'
import type { Person } from '../../domain/actor.ts'
import { adoptVault, createOrg, listOrgs, readOrg } from '../../domain/orgs/orgs.ts'
import type { KnownContent, KnownNode } from '../plan/inventory.ts'
import type { Candidate } from '../plan/organisation.ts'
import type { Imported } from '../plan/summary.ts'
import { applyImport, type ImportInput } from './imports.ts'
import { contentsOf, listKnownNodes, takenElsewhere } from './known-nodes.ts'
import { findRememberedImport, type RememberedImport, rememberImport, stateOfOrg } from './remembered-imports.ts'

/** What an import asks of it, in the name of one person. Errors are sentences for that person. */
export interface Destination {
  /** The part of the command line that leads here. */
  readonly words: readonly string[]
  /** Those of the person, the oldest first. */
  listOrgs(): Promise<readonly Candidate[]>
  readOrg(orgId: string): Promise<Candidate>
  createOrg(org: { readonly name: string; readonly vault_id?: string }): Promise<{ readonly id: string }>
  /** Says which vault fills the organisation, where nothing says so yet. Returns a sentence where that was not possible. */
  adoptVault(orgId: string, vaultId: string): Promise<string | undefined>
  /**
   * All nodes, the oldest first, with their paths where this vault, or the organisation's own, has made them.
   *
   * @param guest the vault, where the organisation is another one's
   */
  knownNodes(orgId: string, guest: string | undefined): Promise<readonly KnownNode[]>
  /** The contents of these nodes on main, in any order. */
  contentsOf(orgId: string, ids: readonly string[]): AsyncIterable<KnownContent>
  /** Those of these ids that nodes of other organisations have, as far as can be known. */
  takenElsewhere(orgId: string, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Another one after each change of the organisation or of its nodes; undefined where only a read of all can tell. */
  stateOfOrg(orgId: string): Promise<string | undefined>
  /** What the last import that found all unchanged has said. */
  recall(orgId: string): Promise<RememberedImport | undefined>
  remember(orgId: string, remembered: RememberedImport): Promise<void>
  /** As applyImport. */
  write(orgId: string, input: ImportInput): Promise<Imported>
}

/** Organisations of a person among which the vault's is looked for. */
const maxOrgs = 10_000

/** The data folder of this machine. */
export function localDestination(deps: Deps, person: Person): Destination {
  return {
    words: ['--as', person.email],
    listOrgs: async () => (await listOrgs(deps, person, { limit: maxOrgs, offset: 0 })).orgs,
    readOrg: (orgId) => readOrg(deps, person, { orgId }),
    createOrg: (org) => createOrg(deps, person, org),
    adoptVault: async (orgId, vaultId) => {
      await adoptVault(deps, person, { orgId }, vaultId)
      return undefined
    },
    knownNodes: (orgId, guest) => listKnownNodes(deps, orgId, guest),
    contentsOf: (_orgId, ids) => contentsOf(deps, ids),
    takenElsewhere: (orgId, ids) => takenElsewhere(deps, orgId, ids),
    stateOfOrg: (orgId) => stateOfOrg(deps, orgId),
    recall: (orgId) => findRememberedImport(deps, orgId),
    remember: (orgId, remembered) => rememberImport(deps, orgId, remembered),
    write: (orgId, input) => applyImport(deps, person, { orgId }, input),
  }
}
