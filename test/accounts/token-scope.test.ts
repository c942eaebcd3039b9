/** The rights of a personal access token. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Attempt } from '../support/attempts.ts'
import { castFor, made, makeDraft, makeNode, proposal, type World, worldOf, writing } from '../support/cast.ts'
import { type Client, client } from '../support/people.ts'
import { attemptOf, send, specOperations } from '../support/permissions.ts'
import { atBoundaries } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'

const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

describe('what a personal access token may do', () => {
  const { grove } = useWorld({})
  let world: World
  let elsewhere: string
  before(async () => {
    world = await worldOf(await castFor(grove), false)
    elsewhere = (await made(world.owner.post('/orgs', { name: 'Elsewhere' }))).id
  })

  const kept = new Map<string, Client>()
  /** Uses a token of the owner, who may do everything. Rows share tokens with equal fields. */
  async function withToken<R>(fields: object, use: (who: Client) => Promise<R>): Promise<R> {
    const name = JSON.stringify(fields)
    const known = kept.get(name)
    if (known !== undefined) return use(known)
    const { id, token } = await made(world.owner.post('/auth/tokens', { name: 'A script', access: 'write', ...fields }))
    const who = client(grove, token)
    if (!('node_id' in fields)) kept.set(name, who)
    const result = await use(who)
    if ('node_id' in fields) await made(world.owner.delete(`/auth/tokens/${id}`))
    return result
  }

  /** The access of operations that their method does not show. */
  const others: Readonly<Record<string, string>> = {
    ...{ searchNodes: 'read', queryNodes: 'read', checkType: 'read' },
    ...{ createBranch: 'propose', createCommit: 'propose', deleteBranch: 'propose', openPull: 'propose' },
    ...{ openChangeSet: 'propose', updateChangeSet: 'propose' },
    createFeedToken: 'none',
    endFeedToken: 'none',
    createToken: 'none',
    listTokens: 'none',
    revokeToken: 'none',
    verifyEmail: 'none',
    stopDigest: 'none',
    undoEmailChange: 'none',
    requestVerification: 'none',
    changePassword: 'none',
    updateMe: 'none',
    changeEmail: 'none',
    deleteMe: 'none',
    listAccounts: 'none',
    createAccount: 'none',
    getAccount: 'none',
    updateAccount: 'none',
    deleteAccount: 'none',
    resetAccount: 'none',
    listAllOrgs: 'none',
    updateOrgLimits: 'none',
    listPlaces: 'none',
    getServiceStatus: 'none',
    listMyConnections: 'none',
    endMyConnection: 'none',
    listSessions: 'none',
    listMyAudit: 'none',
    exportMyData: 'none',
    listServiceAudit: 'none',
    endOtherSessions: 'none',
    endSession: 'none',
    listIdentities: 'none',
    removeIdentity: 'none',
    createOrg: 'none',
    updateOrg: 'none',
    deleteOrg: 'none',
    putMember: 'none',
    removeMember: 'none',
    createBot: 'none',
    listBots: 'none',
    updateBot: 'none',
    deleteBot: 'none',
    createBotToken: 'none',
    listBotTokens: 'none',
    revokeBotToken: 'none',
    createInvitation: 'none',
    listInvitations: 'none',
    revokeInvitation: 'none',
    acceptInvitation: 'none',
    submitReview: 'none',
    submitChangeSetReview: 'none',
    updateReview: 'none',
    eraseEntry: 'none',
    putReadMark: 'none',
    listDrafts: 'none',
    listOrgDrafts: 'none',
    getDraft: 'none',
    putDraft: 'none',
    deleteDraft: 'none',
    listWebhooks: 'write',
    getWebhook: 'write',
    listDeliveries: 'write',
    getDelivery: 'write',
    putInboxMark: 'none',
    putOrgInboxMark: 'none',
    followOrg: 'none',
    unfollowOrg: 'none',
    followNode: 'none',
    unfollowNode: 'none',
    muteNode: 'none',
    unmuteNode: 'none',
  }

  /** Operations without a node in the path, of a token for a node: they show it the events and webhooks of its node. */
  const ofNode: Readonly<Record<string, number | string>> = {
    listEvents: 200,
    listWebhooks: 200,
    createWebhook: 'token_scope',
    ...{ getWebhook: 404, updateWebhook: 404, deleteWebhook: 404, rotateWebhookSecret: 404, pingWebhook: 404 },
    ...{ listDeliveries: 404, getDelivery: 404, redeliverDelivery: 404, redeliverFailed: 404 },
  }

  /** The operations of a token that proposes, on a branch for agents. Elsewhere they are beyond it. */
  const proposing: Readonly<Record<string, () => Promise<Omit<Attempt, 'org'>>>> = {
    createBranch: async () => ({ params: { node_id: await makeNode(world) }, body: { name: 'agent/draft' } }),
    createCommit: async () => ({ ...(await onDraft()), body: writing('song.md') }),
    deleteBranch: () => onDraft(),
    openPull: async () => ({ ...(await onDraft()), body: { ...proposal, source_branch: 'agent/draft' } }),
  }
  const onDraft = async () => ({ params: { node_id: await makeDraft(world, 'agent/draft'), branch: 'agent/draft' } })

  for (const operation of specOperations.filter(({ security }) => security === 'optional' || security === 'required')) {
    const { id, method, path, success } = operation
    // A token cannot be bound to a node that is deleted.
    const isDeleted = id === 'restoreNode'
    const takes = others[id] ?? (method === 'GET' ? 'read' : 'write')
    const asked = async (fields: object, boundToNode = false, make = () => attemptOf(id, world)) => {
      const attempt = await make()
      const node_id = isDeleted ? world.node : (attempt.params?.node_id ?? world.node)
      const { status, body, headers } = await withToken(
        boundToNode ? { ...fields, org_id: world.org, node_id } : fields,
        (who) => send(who, operation, attempt),
      )
      if (status !== 403) return status
      expect(headers['www-authenticate']).to.equal('Bearer error="insufficient_scope"')
      return body.code
    }

    const ofAgent = proposing[id]
    const forAgent = async (): Promise<Attempt> => ({ org: world.org, ...(await ofAgent?.()) })

    it(`${id}: ${takes === 'none' ? 'none will do' : `it takes ${takes}`}, and what it needs lies within its bounds`, async () => {
      const [inOrg, inNode] = [path.includes('{org_id}'), path.includes('{node_id}')]
      const when = (may: boolean) => (may && takes !== 'none' ? success : 'token_scope')
      const all: [name: string, expected: number | string, fields: object, isOfNode?: boolean][] = [
        // A set is for whoever opened it, wherever its branches are.
        [
          'propose',
          when(takes === 'read' || id === 'openChangeSet' || id === 'updateChangeSet'),
          { access: 'propose' },
        ],
        ['read', when(takes === 'read'), { access: 'read' }],
        ['write', when(true), {}],
        ['org', when(inOrg), { org_id: world.org }],
        ['another org', 'token_scope', { org_id: elsewhere }],
        ['node', ofNode[id] ?? when(inNode && !isDeleted), {}, true],
      ]
      expect(operation.token).to.equal(takes)
      const answered: unknown[] = []
      const cells = atBoundaries(id, all, ([, expected]) => expected)
      for (const [name, , fields, isOfNode] of cells) answered.push([name, await asked(fields, isOfNode)])
      expect(answered).to.deep.equal(cells.map(([name, expected]) => [name, expected]))
      if (ofAgent) expect(await asked({ access: 'propose' }, false, forAgent)).to.equal(success)
    })
  }

  it('is refused before anything shows if the target exists', async () => {
    await withToken({ org_id: world.org, access: 'read' }, async (who) => {
      const told = { code: 'token_scope', token_access: 'read', token_org_id: world.org }
      const outside = {
        status: 403,
        body: { detail: 'This token is limited to another organisation or node', ...told },
      }
      for (const org of [elsewhere, randomUUID(), 'nonsense', `../orgs`]) {
        const path = `/orgs/${encodeURIComponent(org)}`
        for (const one of [path, `${path}/nodes`, `${path}/nodes/${world.node}`, `${path}?nonsense=1`]) {
          expect(await who.get(one), one).to.deep.equal(outside)
        }
      }
      const reads = { status: 403, body: { detail: 'This token is read-only', ...told } }
      expect(await who.post(`/orgs/${elsewhere}/nodes`, '{')).to.deep.equal(reads)
    })
    await withToken({ org_id: world.org, node_id: world.node }, async (who) => {
      for (const node of [randomUUID(), 'org', '..%2Forg']) {
        const { body } = await who.get(`/orgs/${world.org}/nodes/${node}`)
        const told = { code: 'token_scope', token_org_id: world.org, token_node_id: world.node }
        expect(body, node).to.deep.equal({ detail: 'This token is limited to another organisation or node', ...told })
      }
    })
  })

  it('is never more than its user may do', async () => {
    const { reader } = world.members
    const { token } = await made(reader.post('/auth/tokens', { name: 'A script', access: 'write' }))
    const who = client(grove, token)
    const at = `/orgs/${world.org}/nodes/${world.node}`
    expect((await who.get(at)).status).to.equal(200)
    expect((await who.patch(at, { title: 'Dolphins' })).body.code).to.equal('forbidden')
    expect(await who.get(`/orgs/${elsewhere}`)).to.deep.equal(noOrg)
  })
})
