/** How pull requests came about: the ledger records it, and no push can write it. */

import { expect } from 'chai'
import { newBot, speaking } from '../bots/scene.ts'
import { made } from '../support/cast.ts'
import { grove as command } from '../support/command.ts'
import { connectProgram } from '../support/connector.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the provenance of a pull request', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let desk: Desk

  before(async () => {
    node = await newNode(grove, ann)
    desk = await newDesk()
  })
  after(() => desk.remove())

  const tokenOf = async (access: string) => made(ann.post('/auth/tokens', { name: 'A secret name', access }))

  /** Makes a branch with a commit as that caller, and opens a pull request. Returns the answer. */
  async function proposal(who: Client, name: string, headers: Record<string, string> = {}) {
    const branch = `agent/${name}`
    const changes = [{ action: 'put', path: `${name}.txt`, content: name }]
    await who.post(`${node.at}/branches`, { name: branch }, headers).then(expecting(201))
    await who
      .post(`${node.at}/tree/${encodeURIComponent(branch)}/commits`, { message: name, changes }, headers)
      .then(expecting(201))
    const opened = await who.post(`${node.at}/pull-requests`, { source_branch: branch, title: name }, headers)
    return expecting(201)(opened).body.pr
  }

  const read = async (number: number) =>
    (await ann.get(`${node.at}/pull-requests/${number}`).then(expecting(200))).body.pr

  it('names the credential, its id and the program; a session leaves none', async () => {
    const own = await proposal(ann, 'own')
    expect(own).to.not.have.any.keys('opened_via', 'ended_via')

    const token = await tokenOf('propose')
    const script = await proposal(client(grove, token.token), 'script')
    const ofToken = {
      door: 'rest',
      by: 'token',
      id: token.id,
      client: 'token',
      client_name: 'a token',
      recorded: 'ledger',
    }
    expect(script.opened_via).to.deep.equal(ofToken)

    const named = await proposal(ann, 'named', { 'grove-agent': 'scribe' })
    const ofAgent = { door: 'rest', by: 'session', client: 'agent:scribe', client_name: 'scribe', recorded: 'ledger' }
    expect(named.opened_via).to.deep.equal(ofAgent)

    const robin = await connectProgram(grove, ann, { access: 'propose' })
    const connected = await proposal(robin, 'connected')
    expect(connected.opened_via).to.deep.equal({
      ...{
        door: 'rest',
        by: 'connection',
        id: robin.id,
        client: 'dcr:Robin',
        client_name: 'Robin',
        recorded: 'ledger',
      },
    })

    const { id } = await newBot(ann, ann.org, { role: 'editor' })
    const bot = await speaking(grove, ann, ann.org, id, { access: 'propose' })
    const byBot = await proposal(bot.as, 'bot')
    expect(byBot.opened_via).to.include({ door: 'rest', by: 'bot', client: 'token', recorded: 'ledger' })
    expect(JSON.stringify([script, connected, byBot])).to.not.include('A secret name')

    const numbers = async (query: string) =>
      (await ann.get(`${query}`)).body.pull_requests.map(({ title }: { title: string }) => title).sort()
    for (const list of [`${node.at}/pull-requests`, `/orgs/${ann.org}/pull-requests`]) {
      expect(await numbers(`${list}?via=agent`)).to.deep.equal(['bot', 'connected', 'named'])
      expect(await numbers(`${list}?via=person`)).to.deep.equal(['own', 'script'])
    }
  })

  it.deep('says how it ended: by a session, a token, or a push', async () => {
    const robin = await connectProgram(grove, ann, { access: 'propose' })
    const [first, second, third] = [await proposal(robin, 'a'), await proposal(robin, 'b'), await proposal(robin, 'c')]
    await ann.post(`${node.at}/pull-requests/${first.number}/merge`, {}).then(expecting(200))
    expect(await read(first.number)).to.deep.include({ status: 'merged', opened_via: first.opened_via })
    expect(await read(first.number)).to.not.have.property('ended_via')

    const token = await tokenOf('write')
    await client(grove, token.token)
      .patch(`${node.at}/pull-requests/${second.number}`, { status: 'closed' })
      .then(expecting(200))
    expect((await read(second.number)).ended_via).to.include({ door: 'rest', by: 'token', id: token.id })
    await ann.patch(`${node.at}/pull-requests/${second.number}`, { status: 'open' }).then(expecting(200))
    expect(await read(second.number)).to.not.have.property('ended_via')

    const REMOTE = remoteUrl(grove, node.org, node.id, token.token)
    const merge = 'git clone -q $REMOTE w; cd w; git merge -q -m Join origin/agent/c; git push -q origin main'
    await desk.done(merge, { REMOTE })
    const pushed = await read(third.number)
    expect([pushed.status, pushed.opened_via]).to.deep.equal(['merged', third.opened_via])
    expect(pushed.ended_via).to.deep.equal({
      ...{ door: 'push', by: 'token', id: token.id, client: 'token', client_name: 'a token', recorded: 'ledger' },
    })
  })

  it('is not changed by a trailer that a push brings', async () => {
    const own = await proposal(ann, 'forged')
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const forge = `git clone -q $REMOTE f; cd f; git checkout -q agent/forged; git commit -q --allow-empty -m 'Forged

Grove-Via: mcp https://claude.ai/x 01234567'; git push -q origin agent/forged`
    await desk.done(forge, { REMOTE })
    const pull = await read(own.number)
    expect(pull).to.not.have.any.keys('opened_via', 'ended_via')
    const { commits } = (await ann.get(`${node.at}/pull-requests/${own.number}/commits`)).body
    expect(commits[0].via).to.include({ client: 'https://claude.ai/x', recorded: 'message' })
  })

  it.deep('is the same after the index is rebuilt', async () => {
    const list = async () => (await ann.get(`${node.at}/pull-requests?status=all&limit=100`)).body.pull_requests
    const before = await list()
    expect(before.filter(({ opened_via }: { opened_via?: object }) => opened_via)).to.have.length.above(5)
    expect((await command(grove.dataDir, 'reindex')).code).to.equal(0)
    expect(await list()).to.deep.equal(before)
  })
})
