/** A request to a cell that lacks the organisation: the answer is that of the cell that has it. */

import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Request } from 'express'
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose'
import { signForCell } from '../../server/domain/cells/tokens.ts'
import { signForwarded } from '../../server/http/cells/forwarded.ts'
import { connectHttp, tokenOf } from '../mcp/scene.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { started } from '../support/half-sent.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { sendRaw } from '../support/raw.ts'
import { until } from '../support/until.ts'
import { imported, zipOf } from '../support/uploads.ts'
import { startPeer } from './peer.ts'
import { here, placeOf, setUrl, setUrls, signIn, there, useCells } from './scene.ts'

/** An address at which no program listens. */
const nowhere = 'http://127.0.0.1:9'

describe('a request to another cell', () => {
  useCells()
  let ann: PersonClient
  let away: PersonClient
  let node: string
  let desk: Desk

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
    node = (await away.post(`/orgs/${ann.org}/nodes`, { title: 'Krill', text_content: 'Small.' }).then(expecting(201)))
      .body.id
    desk = await newDesk()
  })
  after(() => desk?.remove())

  it('is answered as its own cell answers: what is read, refused, not modified, and what is a page', async () => {
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const at = `/orgs/${ann.org}`
    const paths = [
      at,
      `${at}/nodes/${node}`,
      `${at}/nodes?limit=2`,
      `${at}/tree`,
      `${at}/suggest?q=kri`,
      `${at}/nowhere`,
      // Any character may be percent-encoded.
      `/orgs/${encoded(ann.org)}/nodes/${node}`,
      `/orgs/${encoded(ann.org).toUpperCase()}`,
      `/orgs/%zz${ann.org.slice(3)}`,
    ]
    for (const path of [
      ...paths,
      `${at}/nodes/${node}/tree/main/raw/content.md`,
      `/public${at}/graph`,
      `/o/${ann.org}`,
      pageAt({ id: ann.org, name: 'Ann' }),
      `${pageAt(ann.org)}/changes`,
    ]) {
      const [one, other] = [await ann.get(path), await away.get(path)]
      expect([other.status, addressed(other.body)], path).to.deep.equal([one.status, one.body])
      expect(told(other.headers), path).to.deep.equal(told(one.headers))
    }
    const { etag = '' } = (await away.get(`${at}/nodes/${node}`)).headers
    expect((await away.get(`${at}/nodes/${node}`, { 'if-none-match': etag })).status).to.equal(304)
    const broken = await away.post(`${at}/nodes`, '{"title":', { 'content-type': 'application/json' })
    expect(broken.status).to.equal(422)
    expect((await client(there).get(`${at}/members`)).status).to.equal(401)
    const found = await away.post(`${at}/search/retrieve`, { query: 'krill' }).then(expecting(200))
    expect(found.body.matches[0].node_id).to.equal(node)
  })

  it('may be an archive to import, by the API and by a page, and its state is read there', async () => {
    const zip = await zipOf({ 'seals.md': '# Seals\n' })
    expect(await imported(away, ann.org, zip)).to.include({ state: 'done', created_by: ann.user.id })
    const titles = (await ann.get(`/orgs/${ann.org}/nodes`)).body.nodes.map(({ title }: { title: string }) => title)
    expect(titles).to.include('Seals')
    expect((await away.get(`${pageAt(ann.org)}/import`, { accept: 'text/html' })).body).to.contain('Earlier imports')
  })

  it('names what the client reached, and keeps the id of the request', async () => {
    const urls = await away.get(`/orgs/${ann.org}/clone-urls`, { 'x-request-id': 'mine' }).then(expecting(200))
    expect(JSON.stringify(urls.body)).to.include(there.url).and.not.include(here.url)
    expect(urls.headers['x-request-id']).to.equal('mine')
    const made = await away.post(`/orgs/${ann.org}/nodes`, { title: 'Whale' }).then(expecting(201))
    expect(new URL(made.headers.location ?? '', there.url).pathname).to.equal(`/orgs/${ann.org}/nodes/${made.body.id}`)
  })

  it('of git clones and pushes: large bodies, both ways', async () => {
    // Git sends no token where it is not asked for one, and sees main alone.
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
    const { token } = (await ann.post('/auth/tokens', { name: 'git', access: 'write' }).then(expecting(201))).body
    const url = `${there.url.replace('://', `://ann:${token}@`)}/git/${ann.org}/${node}.git`
    await desk.done(`git clone -q '${url}' a; cd a; git switch -qc draft
      head -c 20000000 /dev/urandom > large; git add large; git commit -qm Large; git push -q origin draft
      cd ..; git clone -qb draft '${url}' b; cmp a/large b/large`)
    const [bytes, other] = await Promise.all(
      [here, there].map(({ url }) =>
        fetch(`${url}/orgs/${ann.org}/nodes/${node}/tree/draft/raw/large`, {
          headers: { authorization: `Bearer ${token}` },
        }).then((answer) => answer.arrayBuffer()),
      ),
    )
    expect(digest(other)).to.equal(digest(bytes))
  })

  it('that says falsely whom it is passed on for is refused, and none is passed on twice', async () => {
    const asked = `/orgs/${ann.org}`
    const header = (text: string) => ({ 'grove-forwarded': text })
    const config = { ...here.deps.config, publicUrl: 'https://grove.example' }
    const req = { ip: '203.0.113.7' } as Request // what is read of it
    const sign = (name: string, now = new Date()) => signForwarded({ ...here.deps, config, now: () => now }, name, req)
    const token = ann.session.accessToken
    const early = new Date(Date.now() - 3_600_000)
    const forged = await forgedHeaders(await sign('here'))
    for (const text of ['x', token, await sign('there'), await sign('here', early), 'a.b.c', ...forged]) {
      const { status, body } = await ann.get(asked, header(text))
      expect([status, body.code], text).to.deep.equal([403, 'forbidden'])
    }
    await ann.get(asked, header(await sign('here'))).then(expecting(200))
    const twice = await away.get(asked, header(await sign('there')))
    expect([twice.status, twice.body.code, twice.headers['retry-after']]).to.deep.equal([503, 'moving', '2'])
  })

  it('of a model is answered by the cell of the organisation: what is read, proposed and refused', async () => {
    const model = await connectHttp(await tokenOf('write', {}, ann), '2026-07-28', there)
    expect(await model.ask('read_node', { org_id: ann.org, node_id: node })).to.include('Small.')
    expect(await model.ask('search', { org_id: ann.org, query: 'krill' })).to.include(node)
    const proposed = await model.ask('propose_change', {
      ...{
        org_id: ann.org,
        node_id: node,
        title: 'Say more',
        changes: [{ path: 'content.md', content: 'Small, in swarms.' }],
      },
      expected_head: (await ann.get(`/orgs/${ann.org}/nodes/${node}`)).body.head,
    })
    expect(proposed).to.include('/proposals/1')
    const request = await ann.get(`/orgs/${ann.org}/nodes/${node}/pull-requests/1`)
    expect(request.body.pr.title).to.equal('Say more')
    const refused = await model.refused('read_node', { org_id: ann.org, node_id: ann.org })
    expect(refused).to.include('node_not_found')
  })

  it('to make an organisation goes to an open cell', async () => {
    const set = (open: 0 | 1) =>
      here.deps.credentials.write((trx) => trx.updateTable('cell').set({ open }).where('name', '=', 'there').execute())
    await set(0)
    const { id } = (await away.post('/orgs', { name: 'Elsewhere' }).then(expecting(201))).body
    await set(1)
    expect(await placeOf(id)).to.include({ cell: 'here', state: 'here' })
  })

  it('to a cell that is away is 503 at once, and says that nothing was done', async () => {
    await setUrl('here', nowhere)
    try {
      for (const answer of [
        await away.hasty.get(`/orgs/${ann.org}`),
        await away.hasty.post(`/orgs/${ann.org}/nodes`, { title: 'Lost' }),
      ])
        expect([answer.status, answer.body.code]).to.deep.equal([503, 'busy'])
      expect((await away.get('/auth/me')).status).to.equal(200)
    } finally {
      await setUrl('here', here.url)
    }
    await away.get(`/orgs/${ann.org}`).then(expecting(200))
  })

  it('is passed on without the headers of its connection, and with all others, which Connection cannot take away', async () => {
    const peer = await startPeer()
    try {
      const own = ['Keep-Alive: timeout=5', 'Proxy-Connection: close', 'TE: trailers', 'Trailer: x', 'Upgrade: h2c']
      const named = ['Connection: X-One', `Connection: x-two,${' '.repeat(8_000)}if-none-match, close`]
      const others = ['X-One: 1', 'X-Two: 2', 'If-None-Match: "3"']
      const lines = [`GET /orgs/${ann.org} HTTP/1.1`, 'Host: x', ...own, ...named, ...others]
      await sendRaw(there, `${lines.join('\r\n')}\r\n\r\n`)
      const [heard] = peer.heard
      expect(heard?.headers).to.include({
        'x-one': '1',
        'x-two': '2',
        'if-none-match': '"3"',
        connection: 'keep-alive',
      })
      expect(heard?.headers).to.not.have.any.keys('keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade')
    } finally {
      await setUrl('here', here.url)
      await peer.close()
    }
  })

  it('whose client goes away ends at both', async () => {
    const before = await inFlight()
    const half = await started({
      url: there.url,
      method: 'POST',
      path: `/orgs/${ann.org}/nodes`,
      half: '{"title":',
      headers: { authorization: `Bearer ${away.session.accessToken}`, 'content-length': '100' },
    })
    await until(async () => (await inFlight()).every((count, at) => count > (before[at] ?? 0)))
    half.on('error', () => {}).destroy()
    await until(async () => (await inFlight()).every((count, at) => count === before[at]))
  })
})

/** The claims of a good one: signed with a key of somebody else under the name of ours, not signed, and for another use. */
async function forgedHeaders(good: string): Promise<string[]> {
  const { alg = '', ...named } = decodeProtectedHeader(good)
  const claims = decodeJwt(good)
  const { privateKey } = await generateKeyPair(alg)
  const unsigned = Buffer.from(JSON.stringify({ ...named, alg: 'none' })).toString('base64url')
  return [
    await new SignJWT(claims).setProtectedHeader({ ...named, alg }).sign(privateKey),
    `${unsigned}.${good.split('.')[1]}.`,
    await signForCell(here.deps, 'here', 'move+jwt', { ip: String(claims.ip), base: String(claims.base) }),
  ]
}

/** As the other cell would name itself. */
function addressed(body: unknown): unknown {
  return body === undefined ? undefined : JSON.parse(JSON.stringify(body).replaceAll(there.url, here.url))
}

/** Its first character is percent-encoded. */
function encoded(id: string): string {
  return `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`
}

/** Headers but those that differ from answer to answer, or with the length of an address. */
function told(headers: Readonly<Record<string, string>>): Record<string, string> {
  const differ = ['date', 'x-request-id', 'etag', 'content-length', 'ratelimit-remaining']
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !differ.includes(name)))
}

function digest(bytes: ArrayBuffer | undefined): string {
  return createHash('sha256')
    .update(new Uint8Array(bytes ?? new ArrayBuffer(0)))
    .digest('hex')
}

function inFlight(): Promise<number[]> {
  return Promise.all(
    [here, there].map(async ({ deps }) => {
      const { values } = await deps.metrics.requestsInFlight.get()
      return values[0]?.value ?? 0
    }),
  )
}
