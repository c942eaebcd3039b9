/** A remote Grove as the destination of an import, over its REST API. */

import { inTurn, type Remote, RemoteRefusalError, requestsAtOnce } from '../../../domain/net/remote-grove.ts'
import { OrgTypes } from '../../../domain/types/org-types.ts'
import type { Destination } from '../apply/destination.ts'
import { type ImportInput, toSummaryNames } from '../apply/imports.ts'
import type { KnownContent, KnownNode } from '../plan/inventory.ts'
import {
  nodeSchema,
  nodesSchema,
  type Origin,
  orgSchema,
  orgsSchema,
  originOf,
  pagesOf,
  typesSchema,
} from './answers.ts'
import { writeRemotely } from './writing.ts'

/** The explanation for operations that no personal access token may call. */
const beyondTokens = 'personal access tokens cannot change that'

type Listed = ReturnType<typeof nodesSchema.parse>['nodes'][number]

/** Creates the destination. @param words the part of the command line that selects it */
export function remoteDestination(remote: Remote, words: readonly string[]): Destination {
  /** The ids of the last listing. */
  let known: { readonly orgId: string; readonly ids: ReadonlySet<string> } | undefined

  return {
    words,
    listOrgs: async () => {
      const orgs = []
      for await (const org of pagesOf(remote, '/orgs', orgsSchema, (page) => page.orgs)) orgs.push(candidate(org))
      return orgs
    },
    readOrg: async (orgId) => candidate(await remote.read(orgSchema, 'GET', orgPath(orgId))),
    createOrg: (org) => createOrg(remote, org),
    adoptVault: (orgId, vaultId) => adoptVault(remote, orgId, vaultId),
    knownNodes,
    readTypes: (orgId) => readTypes(remote, orgId),
    contentsOf,
    // Only the service knows these ids, and it refuses such nodes.
    takenElsewhere: async () => new Set<string>(),
    stateOfOrg: async () => undefined,
    recall: async () => undefined,
    remember: async () => {},
    proposalAt: (orgId, number) => `${remote.url}/o/${orgId}/proposals/${number}`,
    write,
  }

  async function knownNodes(orgId: string, guest: string | undefined): Promise<KnownNode[]> {
    const listed: Listed[] = []
    const path = `${orgPath(orgId)}/nodes`
    for await (const node of pagesOf(remote, path, nodesSchema, ({ nodes }) => nodes)) listed.push(node)
    known = { orgId, ids: new Set(listed.map(({ id }) => id)) }
    const omitted = new Map<string, Origin>()
    await inTurn(
      listed.filter((node) => node.isOmitted),
      async ({ id }) => {
        omitted.set(id, originOf((await readNode(orgId, id))?.properties ?? {}))
      },
    )
    return listed.map(({ id, title, origin }) => {
      const { path, vault } = omitted.get(id) ?? origin
      return { id, title, path: vault === guest ? (path ?? undefined) : undefined, isUnmarked: path === undefined }
    })
  }

  async function* contentsOf(orgId: string, ids: readonly string[]): AsyncGenerator<KnownContent> {
    for (let from = 0; from < ids.length; from += requestsAtOnce) {
      const some = await Promise.all(ids.slice(from, from + requestsAtOnce).map((id) => readNode(orgId, id)))
      for (const node of some) if (node) yield { ...node, text: node.text_content }
    }
  }

  /** Reads a node; undefined if it is gone. */
  async function readNode(orgId: string, id: string) {
    try {
      return await remote.read(nodeSchema, 'GET', `${orgPath(orgId)}/nodes/${id}`)
    } catch (error) {
      if (error instanceof RemoteRefusalError && error.code === 'node_not_found') return undefined
      throw error
    }
  }

  async function write(orgId: string, input: ImportInput) {
    await requireRole(remote, orgId, input.removed.length > 0 ? 'maintainer' : 'editor')
    if (known?.orgId !== orgId) await knownNodes(orgId, undefined)
    const ids = known?.ids ?? new Set<string>()
    const { statuses, edited, removed, problems } = await writeRemotely(remote, orgPath(orgId), ids, input)
    return { ...toSummaryNames(input.nodes, statuses, edited), removed, problems }
  }
}

/** Reads the types. An older service has none. @throws the errors of Remote.read */
async function readTypes(remote: Remote, orgId: string): Promise<OrgTypes> {
  const types = []
  try {
    for await (const type of pagesOf(remote, `${orgPath(orgId)}/types`, typesSchema, (page) => page.types))
      types.push(type)
  } catch (error) {
    if (!(error instanceof RemoteRefusalError) || error.code !== 'not_found') throw error
  }
  return new OrgTypes(types, false)
}

/** Creates an organisation. @throws RemoteRefusalError, also if the token may not do this */
async function createOrg(remote: Remote, org: { readonly name: string; readonly vault_id?: string }) {
  try {
    return await remote.read(orgSchema, 'POST', '/orgs', JSON.stringify(org))
  } catch (error) {
    if (!isBeyond(error)) throw error
    throw new RemoteRefusalError(
      `There is no organisation for this folder, and ${beyondTokens}. Create an organisation called ${org.name}, or choose one with --org`,
      'token_scope',
    )
  }
}

/** Records the vault of the organisation. Returns a message if that is not allowed. */
async function adoptVault(remote: Remote, orgId: string, vaultId: string): Promise<string | undefined> {
  try {
    await remote.read(orgSchema, 'PATCH', orgPath(orgId), JSON.stringify({ vault_id: vaultId }))
    return undefined
  } catch (error) {
    if (!(error instanceof RemoteRefusalError) || (error.code !== 'forbidden' && !isBeyond(error))) throw error
    const who = isBeyond(error) ? beyondTokens : 'only an owner can change that'
    return `the organisation does not record its vault, and ${who}. To set it once, an owner sends PATCH ${orgPath(orgId)} {"vault_id": "${vaultId}"}`
  }
}

/** Checks the role before anything is written. @throws RemoteRefusalError */
async function requireRole(remote: Remote, orgId: string, needed: 'editor' | 'maintainer'): Promise<void> {
  const { role = 'none' } = await remote.read(orgSchema, 'GET', orgPath(orgId))
  const able = needed === 'editor' ? ['editor', 'maintainer', 'owner'] : ['maintainer', 'owner']
  if (!able.includes(role)) throw new RemoteRefusalError(`You need the ${needed} role; yours is ${role}`)
}

function orgPath(orgId: string): string {
  return `/orgs/${encodeURIComponent(orgId)}`
}

/** Returns the candidate without undefined fields. */
function candidate({ id, name, vault_id, role }: ReturnType<typeof orgSchema.parse>) {
  return { id, name, ...(vault_id === undefined ? {} : { vault_id }), ...(role === undefined ? {} : { role }) }
}

function isBeyond(error: unknown): boolean {
  return error instanceof RemoteRefusalError && error.code === 'token_scope'
}
