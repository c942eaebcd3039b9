/** An organisation whose org.json requires what this version does not know is closed, and opens again. */

import { join } from 'node:path'
import { expect } from 'chai'
import { v4 as randomUuid } from 'uuid'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { cli } from '../operator/desk.ts'
import { closeOrg, openOrg } from '../support/closed-orgs.ts'
import { newDesk, remoteUrl } from '../support/desk.ts'
import { follow } from '../support/event-stream.ts'
import { gitIn } from '../support/git.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type Client, client, password } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { startReceiver } from '../webhooks/receiver.ts'

describe('an organisation that needs a newer version', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'editor' })
  let node: TestNode

  const sentence =
    'This organisation uses features of a newer version of Grove (areas, releases), so it is closed until the operator upgrades this service'
  const close = (requires: unknown = ['areas', 'releases']) => closeOrg(grove, ann.org, requires)
  const orgsOf = async (who: Client) =>
    (await who.get('/orgs').then(expecting(200))).body.orgs.map(({ id }: { id: string }) => id)
  const stateOf = async () => (await ann.get(node.at)).body.code ?? 'open'
  const edit = (sql: string) => {
    const db = openSqlite(join(grove.dataDir, 'index.sqlite'))
    try {
      db.prepare(sql).run(ann.org)
    } finally {
      db.close()
    }
  }

  before(async () => {
    node = await ann.node({ title: 'Whales', text_content: 'Whales sing.\n' })
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })
  afterEach(() => openOrg(grove, ann.org))

  it('is left out of lists, and its owner can sign in', async () => {
    await close()
    for (const who of [ann, bob]) expect(await orgsOf(who)).to.not.include(ann.org)
    for (const path of ['/inbox', '/waiting'])
      expect(JSON.stringify((await bob.get(path)).body)).to.not.include(ann.org)
    const { user } = (await ann.post('/auth/login', { email: ann.user.email, password }).then(expecting(200))).body
    expect(user.org_id).to.equal(ann.org)
    await openOrg(grove, ann.org)
    for (const who of [ann, bob]) expect(await orgsOf(who)).to.include(ann.org)
  })

  it('says why to everybody, by Git, on pages and in the graph of anyone', async () => {
    await close()
    for (const [who, path] of [
      [ann, node.at],
      [client(grove), node.at],
      [client(grove), `/public/orgs/${ann.org}/graph`],
    ] as const) {
      const { status, headers, body } = await who.get(path)
      expect([status, headers['retry-after'], body.detail], path).to.deep.equal([503, '3600', sentence])
    }
    const page = await client(grove).get(pageAt(ann.org, node.id), { accept: 'text/html' })
    expect([page.status, String(page.body).includes(sentence)]).to.deep.equal([503, true])
    const desk = await newDesk()
    try {
      for (const token of [ann.session.accessToken, undefined]) {
        const { code, text } = await desk.sh('git ls-remote $REMOTE', {
          REMOTE: remoteUrl(grove, ann.org, node.id, token),
        })
        expect(code).to.equal(128)
        expect(text).to.include('503')
      }
    } finally {
      await desk.remove()
    }
  })

  it('that is private is hidden from all but its members', async () => {
    const [secret, none] = [(await bob.post('/orgs', { name: 'Secret' }).then(expecting(201))).body.id, randomUuid()]
    await closeOrg(grove, secret, ['areas'])
    for (const [who, status] of [
      [ann, 404],
      [client(grove), 401],
    ] as const)
      for (const path of ['', '/nodes', `/nodes/${none}`]) {
        const answer = await who.get(`/orgs/${secret}${path}`)
        expect([answer.status, answer.body], path).to.deep.equal([status, (await who.get(`/orgs/${none}${path}`)).body])
      }
    expect((await ann.get(`/public/orgs/${secret}/graph`)).status).to.equal(404)
    expect((await bob.get(`/orgs/${secret}`)).status).to.equal(503)
    await openOrg(grove, secret)
  })

  it('changes nothing before the index knows it', async () => {
    const git = gitIn(grove, ann.org, 'org')
    const file = { ...JSON.parse(git.say('show', 'main:org.json')), requires: ['areas', 'releases'] }
    const parents = [git.head()]
    git.point('main', git.commit({ files: { 'org.json': JSON.stringify(file) }, parents, message: 'by hand' }))
    const [head, { status, body }] = [git.head(), await ann.patch(`/orgs/${ann.org}`, { name: 'Ours' })]
    expect([status, body.detail, git.head()]).to.deep.equal([503, sentence, head])
  })

  it.deep('ends open streams of events, and sends to webhooks only after it is open again', async () => {
    const receiver = await startReceiver()
    const at = `/orgs/${ann.org}/webhooks`
    const { id } = (await ann.post(at, { url: receiver.url, types: ['org.*'] }).then(expecting(201))).body
    const following = await follow(`${grove.url}/orgs/${ann.org}/events`, bob.session.accessToken)
    await close()
    await until(() => following.end() === 'ended')
    await grove.settled()
    expect(receiver.received).to.deep.equal([])
    await openOrg(grove, ann.org)
    await ann.patch(`/orgs/${ann.org}`, { description: 'Open again' }).then(expecting(200))
    await grove.settled()
    expect(receiver.received).to.not.have.length(0)
    expect((await ann.get(`${at}/${id}`)).body.state).to.equal('active')
    await receiver.close()
  })

  it('is closed also by a list that nobody can read', async () => {
    for (const requires of ['areas', [1], { areas: true }]) {
      await close(requires)
      expect(await stateOf(), JSON.stringify(requires)).to.equal('org_needs_newer_version')
    }
    await close([])
    expect(await stateOf()).to.equal('open')
  })

  it('opens in a version that knows the words, and closes in one that does not', async () => {
    await close()
    const members = () => ann.get(`/orgs/${ann.org}/members`).then(({ body }) => body.total)
    // The rows of another version, for the same head.
    edit("update org set requires = '[]' where id = ?")
    await indexOrg(grove.deps, ann.org)
    expect(await stateOf(), 'the words of org.git count').to.equal('org_needs_newer_version')
    await openOrg(grove, ann.org)
    edit(`update org set requires = '["areas"]' where id = ?`)
    expect(await stateOf(), 'a row of a newer version').to.equal('org_needs_newer_version')
    edit(`update org set requires = '[]', closed = 1 where id = ?`)
    edit('delete from member where org_id = ?')
    expect(await stateOf(), 'a row of an older version').to.equal('org_needs_newer_version')
    await indexOrg(grove.deps, ann.org)
    expect([await stateOf(), await members()]).to.deep.equal(['open', 2])
    edit('update org set requires = null where id = ?')
    expect(await stateOf(), 'a row from before there were words').to.equal('open')
    await indexOrg(grove.deps, ann.org)
  })

  it.deep('stays closed in a rebuilt index, and doctor names it', async () => {
    await close()
    for (const command of ['doctor', 'reindex', 'doctor']) {
      const { code, stdout } = await cli(grove.dataDir, command)
      expect(code, `${command}: ${stdout}`).to.equal(0)
      if (command === 'doctor') expect(stdout).to.include(`(note) ${ann.org}/org.git: ${sentence}`)
    }
    expect(await stateOf()).to.equal('org_needs_newer_version')
    expect(await orgsOf(ann)).to.not.include(ann.org)
  })
})
