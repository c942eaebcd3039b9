/** Events and the audit name the program that made a change, and the audit has what its token refused. */

import { expect } from 'chai'
import { newBot, speaking } from '../bots/scene.ts'
import { ann, connectHttp, grove, useScene } from '../mcp/scene.ts'
import { visitOf } from '../pages/forms.ts'
import { made } from '../support/cast.ts'
import { connectProgram } from '../support/connector.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type Client, client } from '../support/people.ts'

describe('the provenance of an event', () => {
  useScene()
  let desk: Desk
  before(async () => {
    desk = await newDesk()
  })
  after(() => desk.remove())

  const newestEvent = async (nodeId: string) =>
    (await made(ann.get(`/orgs/${ann.org}/events?before=now&limit=1&node_id=${nodeId}`))).events[0]
  const newestEntry = async (nodeId: string) => {
    const { entries } = await made(ann.get(`/orgs/${ann.org}/audit?limit=50`))
    return entries.find(({ target }: { target?: { id: string } }) => target?.id === nodeId)
  }
  const branch = (who: Client, at: string, name: string, headers: Record<string, string> = {}) =>
    made(who.post(`${at}/branches`, { name }, headers))

  it('is the door and the program, and only the audit has the id of its credential', async () => {
    const node = await newNode(grove, ann)
    const token = await made(ann.post('/auth/tokens', { name: 'A secret name', access: 'propose' }))
    const robin = await connectProgram(grove, ann, { access: 'write' })
    const bot = await speaking(grove, ann, ann.org, (await newBot(ann, ann.org)).id, { access: 'propose' })
    const rows: readonly [Client, Record<string, string>, object | undefined, string | undefined][] = [
      [ann, {}, undefined, undefined],
      [client(grove, token.token), {}, undefined, undefined],
      [ann, { 'grove-agent': 'scribe' }, { by: 'session', client: 'agent:scribe', client_name: 'scribe' }, undefined],
      [robin, {}, { by: 'connection', client: 'dcr:Robin', client_name: 'Robin' }, robin.id],
      [bot.as, {}, { by: 'bot', client: 'token', client_name: 'a token' }, bot.id],
    ]
    for (const [at, [who, headers, program, id]] of rows.entries()) {
      await branch(who, node.at, `agent/${at}`, headers)
      const event = await newestEvent(node.id)
      expect([event.type, event.via, event.data.via]).to.deep.equal([
        'branch.created',
        'rest',
        program && { door: 'rest', ...program },
      ])
      expect(JSON.stringify(event)).to.not.include(robin.id).and.to.not.include(bot.id)
      expect((await newestEntry(node.id)).detail.via).to.deep.equal(
        program && { door: 'rest', ...program, ...(id !== undefined && { id }) },
      )
    }
    await made(robin.patch(`/orgs/${ann.org}/nodes/${node.id}`, { title: 'Renamed by Robin' }))
    const org = await made(ann.get(`/orgs/${ann.org}`))
    const activity = (await (await visitOf(grove, ann)).open(`${pageAt(org)}/activity`)).body
    expect(activity).to.include('via <bdi>Robin</bdi>')
  })

  it('is the tool of a model, and the program that pushed', async () => {
    const node = await newNode(grove, ann)
    const robin = await connectProgram(grove, ann, { access: 'propose' })
    const model = await connectHttp(ann.session.accessToken)
    const changes = [{ path: 'a.txt', content: 'a' }]
    const at = { org_id: ann.org, node_id: node.id }
    await model.ask('propose_change', { ...at, title: 'Say more', description: '', changes })
    expect((await newestEvent(node.id)).data.via).to.deep.equal({ door: 'mcp', by: 'session' })
    const REMOTE = remoteUrl(grove, ann.org, node.id, robin.token)
    await desk.done('git clone -q $REMOTE w; cd w; git push -q origin HEAD:refs/heads/agent/pushed', { REMOTE })
    const { type, via, data } = await newestEvent(node.id)
    expect([type, via, data.via]).to.deep.equal([
      'branch.created',
      'push',
      { door: 'push', by: 'connection', client: 'dcr:Robin', client_name: 'Robin' },
    ])
  })

  it('is in rows of the audit that no event has', async () => {
    const robin = await connectProgram(grove, ann, { access: 'write' })
    await robin.get(`/orgs/${ann.org}`).then(expecting(200))
    const { entries } = await made(ann.get('/auth/audit?limit=20&action=connection.first_used'))
    expect(entries[0].detail.via).to.deep.equal({
      ...{ door: 'rest', by: 'connection', id: robin.id, client: 'dcr:Robin', client_name: 'Robin' },
    })
  })

  it('includes what a token that may only propose was refused for a branch', async () => {
    const node = await newNode(grove, ann)
    const token = await made(ann.post('/auth/tokens', { name: 'Agent', access: 'propose' }))
    const refused = async () =>
      (await made(ann.get('/auth/audit?limit=50&action=token.refused'))).entries.map(
        ({ detail, target, outcome }: { detail: { operation: string }; target: { id: string }; outcome: string }) => [
          detail.operation,
          target.id,
          outcome,
        ],
      )
    const changes = [{ action: 'put', path: 'a.txt', content: 'a' }]
    const agent = client(grove, token.token)
    await agent.post(`${node.at}/tree/main/commits`, { message: 'No', changes }).then(expecting(403))
    expect(await refused()).to.deep.equal([['createCommit', token.id, 'refused']])
    await agent.post(`${node.at}/branches`, { name: 'mine' }).then(expecting(403))
    await agent.delete(`${node.at}/branches/mine`).then(expecting(403))
    const operations = (await refused()).map(([operation]: string[]) => operation)
    expect(operations).to.deep.equal(['deleteBranch', 'createBranch', 'createCommit'])
    await branch(agent, node.at, 'agent/mine')
    expect(await refused()).to.have.lengthOf(3)
  })
})
