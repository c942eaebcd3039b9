/** Where an import writes to: the data folder of this machine, or a Grove elsewhere. */
import type { ImportInput } from '../../vault/apply/imports.ts'
import type { RememberedImport } from '../../vault/apply/remembered-imports.ts'
import type { KnownContent, KnownNode } from '../../vault/plan/inventory.ts'
import type { Candidate } from '../../vault/plan/organisation.ts'
import type { Imported } from '../../vault/plan/summary.ts'

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
  /** As importNodes. */
  write(orgId: string, input: ImportInput): Promise<Imported>
}
