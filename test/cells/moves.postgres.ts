/** An organisation that moves from one cell to another: what moves with it, and what is refused. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import { indexNode } from '../../server/domain/indexing/index-node.ts'
import { nodeRepo } from '../../server/domain/layout.ts'
import { converse } from '../support/conversation.ts'
import { locksIn } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { everythingIn } from '../support/everything.ts'
import { newGate } from '../support/gate.ts'
import { gitIn } from '../support/git.ts'
import type { Grove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { groveAt, here, move, orgsIn, placeOf, setUrls, signIn, there, useCells } from './scene.ts'

describe('grove move-org', () => {
  useCells()
  let ann: PersonClient
  let away: PersonClient
  let desk: Desk

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    away = await signIn(there, ann)
    desk = await newDesk()
  })
  after(() => desk?.remove())

  it('moves all of it: nodes, branches, tags, proposals, members, and what was deleted', async () => {
    const org = await fill(ann)
    const [before, index] = [await everything(here, org), await changesOf(org)]
    const { code, stdout, stderr } = await move(org, 'there')
    expect([code, stderr], stdout).to.deep.equal([0, ''])
    expect(stdout).to.match(
      RegExp(`^${org} now belongs to cell there \\(5 repositories copied\\). Changes were refused for \\d+\\.\\d s\n$`),
    )
    expect(await placeOf(org)).to.include({ cell: 'there', state: 'here', target: null, epoch: 2 })
    expect(await orgsIn(here)).not.to.include(org)
    expect(await everything(there, org)).to.deep.equal(before)
    expect(await everything(here, org)).to.deep.equal(before)
    expect(await changesOf(org)).to.be.at.least(index)
    expect(readdirSync(join(there.dataDir, 'arriving'))).to.deep.equal([])
    expect(await locksIn(there.dataDir)).to.deep.equal([])
    // A deleted node comes back where the organisation is now.
    const [trashed = ''] = readdirSync(join(there.dataDir, 'trash', org))
    const node = trashed.split('.')[0]
    const restored = await groveAt(there, 'restore-node', `${org}/${node}`)
    expect([restored.code, restored.stdout]).to.deep.equal([0, `${org}/${node} was restored\n`])
    await away.get(`/orgs/${org}/nodes/${node}`).then(expecting(200))
  })

  it('moves it back, with what was changed in the meantime', async () => {
    const org = await fill(ann)
    for (const [to, at] of [
      ['there', there],
      ['here', here],
      ['there', there],
    ] as const) {
      expect(await move(org, to)).to.include({ code: 0 })
      const person = await signIn(at === here ? there : here, ann)
      await person.post(`/orgs/${org}/nodes`, { title: `Made at ${to}` }).then(expecting(201))
    }
    expect(await placeOf(org)).to.include({ cell: 'there', epoch: 4 })
    const { nodes } = (await ann.get(`/orgs/${org}/nodes?limit=200`).then(expecting(200))).body
    const titles = nodes.map(({ title }: { title: string }) => title)
    expect(titles.filter((title: string) => title.startsWith('Made'))).to.have.members([
      'Made at there',
      'Made at here',
      'Made at there',
    ])
    const left = () => readdirSync(join(here.dataDir, 'trash')).filter((name) => name.includes(org))
    expect(left()).to.have.length(2)
    expect((await groveAt(here, 'purge', '--older-than', '1', '--force')).code).to.equal(0)
    expect(left()).to.have.length(2)
    expect((await groveAt(here, 'purge', '--older-than', '0', '--force')).code).to.equal(0)
    expect(left()).to.have.length(0)
  })

  it('waits for a change that had begun, which moves along', async () => {
    const org = await fill(ann)
    const { nodes } = (await ann.get(`/orgs/${org}/nodes`).then(expecting(200))).body
    const { id, head } = nodes[0]
    const name = { repo: nodeRepo(here.deps.store, org, id), ref: 'refs/heads/late' }
    const [began, ends] = [newGate(), newGate()]
    const change = updateRefs(here.deps.store, [name], async () => {
      began.open()
      await ends.opened
      return { moves: [{ ...name, to: head }], value: undefined }
    })
    await began.opened
    const moving = move(org, 'there')
    await until(async () => (await placeOf(org))?.state === 'moving')
    // Longer than all that follows takes.
    await sleep(1_000)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'moving' })
    ends.open()
    await change
    await indexNode(here.deps, org, id)
    expect(await moving).to.include({ code: 0 })
    expect(await placeOf(org)).to.include({ cell: 'there', state: 'here' })
    expect(gitIn(there, org, id).head('late')).to.equal(head)
  })

  it('says what cannot be moved, and changes nothing', async () => {
    const org = await fill(ann)
    const other = '00000000-0000-4000-8000-000000000000'
    for (const [args, code, said] of [
      [[org, 'nowhere'], 2, 'There is no cell nowhere; grove cells lists all'],
      [[org, 'here'], 2, 'This is already the cell here; name another cell'],
      [['x', 'there'], 2, 'x is not an organisation id'],
      [[org, 'there', '--jobs', '0'], 2, '--jobs must be a whole number from 1 to 64'],
      [[other, 'there'], 1, 'There is no such organisation'],
    ] as const) {
      const done = await groveAt(here, 'move-org', ...args)
      expect(done.code, said).to.equal(code)
      expect(done.stdout + done.stderr).to.include(said)
    }
    const wrong = await groveAt(there, 'move-org', org, 'here')
    expect([wrong.code, wrong.stdout]).to.deep.equal([
      1,
      `${org} was not moved, and it is unchanged. The cell here has it: run the command there\n`,
    ])
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null })
    expect(existsSync(join(here.dataDir, org, 'closed'))).to.equal(false)
  })

  /** Three nodes with branches, a tag, a proposal; one that is deleted; a member; published. */
  async function fill(person: PersonClient): Promise<string> {
    const { id: org } = (await person.post('/orgs', { name: 'Sea' }).then(expecting(201))).body
    const nodes: string[] = []
    for (const title of ['Krill', 'Whale', 'Kelp', 'Gone']) {
      const parents = nodes.slice(0, 1)
      const made = await person.post(`/orgs/${org}/nodes`, { title, text_content: `${title} lives.`, parents })
      nodes.push(expecting(201)(made).body.id)
    }
    const [krill = '', , , gone = ''] = nodes
    const at = `/orgs/${org}/nodes/${krill}`
    await person.post(`${at}/branches`, { name: 'draft' }).then(expecting(201))
    const changes = [{ action: 'put', path: 'content.md', content: 'Small.' }]
    await person.post(`${at}/tree/draft/commits`, { message: 'Say', changes }).then(expecting(201))
    await person.post(`${at}/pull-requests`, { title: 'Say', source_branch: 'draft' }).then(expecting(201))
    await converse(`${at}/pull-requests/1`, person)
    await person.delete(`/orgs/${org}/nodes/${gone}`).then(expecting(204))
    await person.patch(`/orgs/${org}`, { published: true }).then(expecting(200))
    const token = person.session.accessToken
    await desk.done(
      `rm -rf n; git -c http.extraHeader="Authorization: Bearer ${token}" clone -q ${here.url}/git/${org}/${krill}.git n
       cd n; git tag -a -m one v1; git -c http.extraHeader="Authorization: Bearer ${token}" push -q origin v1`,
    )
    return org
  }

  async function everything({ url }: Grove, org: string): Promise<Record<string, string>> {
    return everythingIn({ url }, ann.session.accessToken, [org], ['krill', 'lives'])
  }

  async function changesOf(org: string): Promise<number> {
    return (await ann.get(`/orgs/${org}/nodes`).then(expecting(200))).body.total
  }
})
