/** The data folder of this machine as the destination of an import. */
import type { Deps } from '../../base/deps.ts'
import type { Person } from '../../domain/actor.ts'
import { adoptVault, createOrg, listOrgs, readOrg } from '../../domain/orgs/orgs.ts'
import { importNodes } from '../../vault/apply/imports.ts'
import { contentsOf, listKnownNodes, takenElsewhere } from '../../vault/apply/known-nodes.ts'
import { recallImport, rememberImport, stateOfOrg } from '../../vault/apply/remembered-imports.ts'
import type { Destination } from './destination.ts'

/** Organisations of a person among which the vault's is looked for. */
const maxOrgs = 10_000

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
    recall: (orgId) => recallImport(deps, orgId),
    remember: (orgId, remembered) => rememberImport(deps, orgId, remembered),
    write: (orgId, input) => importNodes(deps, person, { orgId }, input),
  }
}
