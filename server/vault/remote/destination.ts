/** A Grove elsewhere as the destination of an import, through its REST operations. */
import type { Destination } from '../apply/destination.ts'
import { type ImportInput, toSummaryNames } from '../apply/imports.ts'
import type { KnownContent, KnownNode } from '../plan/inventory.ts'
import { nodeSchema, nodesSchema, type Origin, orgSchema, orgsSchema, originOf, pagesOf } from './answers.ts'
import { inTurn, type Remote, RemoteRefusalError, requestsAtOnce } from './client.ts'
import { writeRemotely } from './writing.ts'

/** What a personal access token never does, whatever its person may. */
const beyondTokens = 'a personal access token cannot do that'

type Listed = ReturnType<typeof nodesSchema.parse>['nodes'][number]

/** @param words the part of the command line that leads there */
export function remoteDestination(remote: Remote, words: readonly string[]): Destination {
  /** Of the last listing. */
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
    contentsOf,
    // Only the service knows: it refuses these nodes.
    takenElsewhere: async () => new Set<string>(),
    stateOfOrg: async () => undefined,
    recall: async () => undefined,
    remember: async () => {},
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

  /** Undefined where it is gone. */
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

/** @throws RemoteRefusalError: also where a token may not do it */
async function createOrg(remote: Remote, org: { readonly name: string; readonly vault_id?: string }) {
  try {
    return await remote.read(orgSchema, 'POST', '/orgs', JSON.stringify(org))
  } catch (error) {
    if (!isBeyond(error)) throw error
    throw new RemoteRefusalError(
      `There is no organisation for this folder, and ${beyondTokens}: create an organisation called ${org.name}, or choose one with --org`,
      'token_scope',
    )
  }
}

/** Returns a sentence if the organisation does not learn its vault. */
async function adoptVault(remote: Remote, orgId: string, vaultId: string): Promise<string | undefined> {
  try {
    await remote.read(orgSchema, 'PATCH', orgPath(orgId), JSON.stringify({ vault_id: vaultId }))
    return undefined
  } catch (error) {
    if (!(error instanceof RemoteRefusalError) || (error.code !== 'forbidden' && !isBeyond(error))) throw error
    const who = isBeyond(error) ? beyondTokens : 'only its owners do that'
    return `the organisation does not learn which vault fills it: ${who}. An owner sets it once: PATCH ${orgPath(orgId)} {"vault_id": "${vaultId}"}`
  }
}

/** Before anything is written. @throws RemoteRefusalError */
async function requireRole(remote: Remote, orgId: string, needed: 'editor' | 'maintainer'): Promise<void> {
  const { role = 'none' } = await remote.read(orgSchema, 'GET', orgPath(orgId))
  const able = needed === 'editor' ? ['editor', 'maintainer', 'owner'] : ['maintainer', 'owner']
  if (!able.includes(role)) throw new RemoteRefusalError(`This needs the role ${needed}; yours is ${role}`)
}

function orgPath(orgId: string): string {
  return `/orgs/${encodeURIComponent(orgId)}`
}

/** Without members that are undefined. */
function candidate({ id, name, vault_id, role }: ReturnType<typeof orgSchema.parse>) {
  return { id, name, ...(vault_id === undefined ? {} : { vault_id }), ...(role === undefined ? {} : { role }) }
}

function isBeyond(error: unknown): boolean {
  return error instanceof RemoteRefusalError && error.code === 'token_scope'
}
