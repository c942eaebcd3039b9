import { isDeepStrictEqual } from 'node:util'

import { expect } from 'chai'
import { table } from '../support/attempts.ts'
import { castFor, type World, worldOf } from '../support/cast.ts'
import { type Client, client } from '../support/people.ts'
import { attemptOf, type Operation, send, specOperations } from '../support/permissions.ts'
import { useWorld } from '../support/world.ts'

const notUuids = ['nonsense', '1', 'org', '..', '01980a5e7c417d028c1b5e2f7a9b4c02', 'x'.repeat(2000), '{a}', 'a\u0000b']

describe('ids', () => {
  const { grove } = useWorld({})
  let open: World
  let hidden: World

  before(async () => {
    const cast = await castFor(grove)
    open = await worldOf(cast, true)
    hidden = await worldOf(cast, false)
  })

  const badOrg = (input: string) => [
    {
      loc: ['path', 'org_id'],
      msg: 'Input should be a valid UUID',
      type: 'uuid_parsing',
      ...(input.length > 1000 ? {} : { input }),
    },
  ]
  const inOrgs = specOperations.filter(({ path }) => path.includes('{org_id}'))

  for (const operation of inOrgs) {
    const { id, security } = operation
    const ask = async (who: Client, org: string) => {
      const attempt = await attemptOf(id, open)
      const { status, body } = await send(who, operation, { ...attempt, org })
      return [status, body.detail ?? body]
    }

    it(`${id}: an organisation that is no UUID is 422, before who may see it, and after who asks`, async () => {
      const { anonymous, stranger, owner } = open.people
      const callers = security === 'required' ? [stranger, owner] : [anonymous, stranger, owner]
      for (const who of callers) expect(await ask(who, 'nonsense')).to.deep.equal([422, badOrg('nonsense')])
      if (security === 'required') expect((await ask(anonymous, 'nonsense'))[0]).to.equal(401)
      if (security !== 'none') expect((await ask(client(grove, 'garbage'), 'nonsense'))[0]).to.equal(401)
    })

    it(`${id}: UUIDs in upper case are the same`, async () => {
      const caller = table[id].need === 'administrator' ? open.people.administrator : open.owner
      const { status, body } = await send(caller, operation, inUpperCase(await attemptOf(id, open)))
      expect(status, JSON.stringify(body)).to.equal(operation.success)
      if (operation.method !== 'GET') return
      const attempt = await attemptOf(id, open)
      const read = async (one: Attempt) => (await send(caller, operation, one)).body
      // A delivery may be tried between two reads, so the first read is repeated until nothing has changed.
      for (let isSame = false; !isSame; ) {
        const [lower, upper, after] = [await read(attempt), await read(inUpperCase(attempt)), await read(attempt)]
        isSame = isDeepStrictEqual(lower, after)
        if (isSame) expect(upper).to.deep.equal(lower)
      }
    })
  }

  it('of an organisation are judged only by their form, published or not', async () => {
    const getOrg = inOrgs.find(({ id }) => id === 'getOrg') as Operation // the spec has it
    for (const text of notUuids) {
      for (const who of [client(grove), open.owner]) {
        const { status, body } = await send(who, getOrg, { org: text })
        // `..` is another path already when the client has sent it.
        if (text === '..') expect(status).to.be.oneOf([404, 422])
        else expect([status, body.detail], text).to.deep.equal([422, badOrg(text)])
      }
      const graph = await client(grove).get(`/public/orgs/${encodeURIComponent(text)}/graph`)
      expect(graph.status, text).to.be.oneOf(text === '..' ? [404, 422] : [422])
    }
    for (const org of [hidden.org.toUpperCase(), hidden.org]) {
      expect((await client(grove).get(`/orgs/${org}`)).status).to.equal(401)
      expect((await client(grove).get(`/public/orgs/${org}/graph`)).status).to.equal(404)
    }
  })

  it('of nodes may be any text, which names nothing', async () => {
    for (const text of notUuids.filter((one) => one !== '..')) {
      const { status, body } = await open.owner.get(`/orgs/${open.org}/nodes/${encodeURIComponent(text)}`)
      expect([status, body.code], text).to.deep.equal([404, 'node_not_found'])
    }
  })

  it('in bodies and queries are read in either case, and stored in lower case', async () => {
    const { owner, org, node } = open
    const [ORG, NODE] = [org.toUpperCase(), node.toUpperCase()]
    const child = (await owner.post(`/orgs/${ORG}/nodes`, { title: 'Child', parents: [NODE] })).body
    expect(child.parents).to.deep.include({ id: node, title: 'Whales', label: '' })
    const target = (await owner.post(`/orgs/${org}/nodes/${child.id}/connections`, { target: NODE, id: 'UP' })).body
    expect(target).to.include({ id: 'UP', target: node, node_id: child.id })
    expect(
      (await owner.get(`/orgs/${org}/nodes?parent_id=${NODE}`)).body.nodes.map(({ id }: { id: string }) => id),
    ).to.include(child.id)
    const scope = { under: NODE, node_ids: [child.id.toUpperCase()] }
    const found = (await owner.post(`/orgs/${org}/search/retrieve`, { query: 'child', scope })).body
    expect(found.matches).to.have.length(1)
    const bound = (await owner.post('/auth/tokens', { name: 'x', access: 'read', org_id: ORG, node_id: NODE })).body
    expect(bound).to.include({ org_id: org, node_id: node })
    const script = client(grove, bound.token)
    expect((await script.get(`/orgs/${ORG}/nodes/${NODE}`)).status).to.equal(200)
    expect((await script.get(`/orgs/${org}/nodes/${child.id}`)).status).to.equal(403)
    expect((await owner.delete(`/auth/tokens/${bound.id.toUpperCase()}`)).status).to.equal(204)
  })

  it('that only look like UUIDs, of connections, keep their case', async () => {
    const { owner, org, node } = open
    const at = `/orgs/${org}/nodes/${node}/connections`
    const id = '01980A60-1F00-7A33-B2D4-6C8E0F1A2B03'
    const target = (await owner.post(`/orgs/${org}/nodes`, { title: 'Krill' })).body.id
    expect((await owner.post(at, { target, id })).body).to.include({ id })
    expect((await owner.patch(`${at}/${id.toLowerCase()}`, { label: 'x' })).status).to.equal(404)
    expect((await owner.patch(`${at}/${id}`, { label: 'x' })).body).to.include({ id, label: 'x' })
  })

  it('are also read in either case by Git', async () => {
    const { owner, org, node } = open
    for (const name of [node.toUpperCase(), 'org']) {
      const path = `/git/${org.toUpperCase()}/${name}.git/info/refs?service=git-upload-pack`
      expect((await client(grove, owner.session.accessToken).get(path)).status, name).to.equal(200)
    }
    const ORG = `/git/${org}/ORG.git/info/refs?service=git-upload-pack`
    expect((await client(grove, owner.session.accessToken).get(ORG)).status).to.equal(404)
  })
})

type Attempt = Awaited<ReturnType<typeof attemptOf>>

/** The ids of organisation, node and parent in the path. */
function inUpperCase({ org, params = {}, ...rest }: Attempt): Attempt {
  const raised = Object.entries(params).map(([name, text]) => [
    name,
    /^(node|parent)_id$/.test(name) ? text.toUpperCase() : text,
  ])
  return { ...rest, ...(org === undefined ? {} : { org: org.toUpperCase() }), params: Object.fromEntries(raised) }
}
