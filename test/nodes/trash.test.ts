/** The trash of an organisation: what it lists, and what comes back from it. */

import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { converse } from '../support/conversation.ts'
import { expectSound, git } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { expecting, newNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, emptyOrg, grove, make, noNode, read, useScene } from './scene.ts'

describe('the trash', () => {
  useScene()

  it('lists who deleted what and when, newest first, a page at a time', async () => {
    const { org } = await emptyOrg()
    const max = await memberOf(org, 'maintainer')
    const began = Date.now()
    const titles = ['Whales', '  <b>Bold</b> & "quoted"', '鯨 🐋']
    for (const [at, title] of titles.entries()) {
      const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: 'Draft' }).then(expecting(201))).body
      await ann.patch(`/orgs/${org}/nodes/${id}`, { title }).then(expecting(200))
      await [ann, max][at % 2]?.delete(`/orgs/${org}/nodes/${id}`).then(expecting(204))
    }
    const { nodes, ...page } = (await max.get(`/orgs/${org}/trash`).then(expecting(200))).body
    expect(page).to.deep.equal({ total: 3, limit: 50, offset: 0 })
    expect(nodes.map(({ title, deleted_by }: Trashed) => [title, deleted_by])).to.deep.equal([
      [titles[2], 'Ann'],
      [titles[1], max.user.name],
      [titles[0], 'Ann'],
    ])
    for (const { deleted_at, kept_until } of nodes) {
      expect(Date.parse(deleted_at)).to.be.within(began, Date.now())
      expect(Date.parse(kept_until) - Date.parse(deleted_at)).to.equal(30 * 86_400_000)
    }
    const second = await ann.get(`/orgs/${org}/trash?limit=1&offset=1`)
    expect(second.body).to.deep.equal({ nodes: [nodes[1]], total: 3, limit: 1, offset: 1 })
    expect(second.headers.link).to.include('offset=2').and.to.include('rel="next"')
    expect((await ann.get(`/orgs/${org}/trash?offset=3`)).body).to.deep.include({ nodes: [], total: 3 })
  })

  it('is in the same order on every page, also if many were deleted at once', async () => {
    const { org } = await emptyOrg()
    const trash = join(grove.dataDir, 'trash', org)
    const many = Array.from({ length: 120 }, (_, at) => ({ id: randomUUID(), ms: 1_700_000_000_000 + (at % 7) }))
    for (const { id, ms } of many) await mkdir(join(trash, `${id}.${ms}.git`, 'objects'), { recursive: true })
    await mkdir(join(trash, `${randomUUID()}.${'9'.repeat(20)}.git`, 'objects'), { recursive: true })
    await mkdir(join(trash, 'tmp-of-a-purge'))
    const oracle = [...many].sort((a, b) => b.ms - a.ms || (a.id < b.id ? -1 : 1)).map(({ id }) => id)
    const found: string[] = []
    for (let offset = 0; offset < many.length; offset += 17) {
      const { body } = await ann.get(`/orgs/${org}/trash?limit=17&offset=${offset}`).then(expecting(200))
      expect(body.total).to.equal(many.length)
      found.push(...body.nodes.map(({ id }: Trashed) => id))
    }
    expect(found).to.deep.equal(oracle)
  })

  it('names a node of an older version by its last title, and a damaged one by none', async () => {
    const { org } = await emptyOrg()
    const nodes = `/orgs/${org}/nodes`
    for (const title of ['Old', 'Damaged']) {
      const { id } = (await ann.post(nodes, { title: 'Draft' }).then(expecting(201))).body
      await ann.patch(`${nodes}/${id}`, { title }).then(expecting(200))
      await ann.delete(`${nodes}/${id}`).then(expecting(204))
      const [name = ''] = readdirSync(join(grove.dataDir, 'trash', org)).filter((one) => one.startsWith(id))
      const repo = join(grove.dataDir, 'trash', org, name)
      if (title === 'Old') await git(repo, 'update-ref', '-d', 'refs/grove/deletion')
      else await writeFile(join(repo, 'refs/grove/deletion'), 'nothing\n')
    }
    const { body } = await ann.get(`/orgs/${org}/trash`).then(expecting(200))
    const said = body.nodes.map(({ id, deleted_at, kept_until, ...rest }: Trashed) => rest)
    expect(said).to.deep.equal([{ title: '' }, { title: 'Old' }])
  })

  it.deep('gives a node back with everything it had, and the edges of its neighbours', async () => {
    const { org } = await emptyOrg()
    const of = { ...ann, org }
    const sea = await newNode(grove, of, { title: 'Sea' })
    const node = await newNode(grove, of, { title: 'Whales', parents: [sea.id], tags: ['sea'], text_content: 'Song.' })
    const calf = await newNode(grove, of, { title: 'Calf', parents: [node.id] })
    await ann.post(`${node.at}/connections`, { target: sea.id, type: 'lives_in' }).then(expecting(201))
    await ann.post(`${sea.at}/connections`, { target: node.id, type: 'holds' }).then(expecting(201))
    await node.proposal('topic')
    await node.open('topic')
    await converse(`${node.at}/pull-requests/1`, ann)
    await node.commit('main', { 'files/song.txt': 'La\n' })
    node.git.say('tag', 'v1', 'main')
    const everything = () => everythingIn(grove, ann.session.accessToken, [org], ['song'])
    for (const _ of ['once', 'twice']) {
      const before = await everything()
      await ann.delete(node.at).then(expecting(204))
      expect((await read(calf)).parents).to.deep.equal([])
      const restored = await ann.post(`/orgs/${org}/trash/${node.id}/restore`).then(expecting(200))
      expect(restored.body).to.deep.equal(await read(node))
      expect(await everything()).to.deep.equal(before)
      expect((await ann.get(`/orgs/${org}/trash`)).body.total).to.equal(0)
    }
    await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))
    await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
    await ann.patch(node.at, { title: 'Great whales' }).then(expecting(200))
    await expectSound(grove.dataDir)
    expect((await command(grove.dataDir, 'doctor')).stdout).to.not.include(node.id)
  })

  it('keeps edges to other deleted nodes hidden until those are restored', async () => {
    const parent = await make({ title: 'Parent' })
    const child = await make({ title: 'Child', parents: [parent.id] })
    for (const { at } of [parent, child]) await ann.delete(at).then(expecting(204))
    expect((await restore(child.id).then(expecting(200))).body.parents).to.deep.equal([])
    await restore(parent.id).then(expecting(200))
    expect((await read(child)).parents.map(({ id }: Trashed) => id)).to.deep.equal([parent.id])
  })

  it('refuses a node whose parent is below it by now, in words, and gives it back once that is moved', async () => {
    const top = await make({ title: 'Top' })
    const node = await make({ title: 'Middle', parents: [top.id] })
    const low = await make({ title: 'Low', parents: [node.id] })
    await ann.delete(node.at).then(expecting(204))
    await ann.put(`${top.at}/parents/${low.id}`, {}).then(expecting(200))
    const { status, body } = await restore(node.id)
    expect(status).to.equal(422)
    expect(body.detail[0].msg).to.include('“Top” has been moved below it').and.to.include('cycle')
    expect(await ann.get(node.at)).to.deep.equal(noNode)
    await ann.delete(`${top.at}/parents/${low.id}`).then(expecting(204))
    await restore(node.id).then(expecting(200))
    expect((await read(low)).parents.map(({ id }: Trashed) => id)).to.deep.equal([node.id])
  })

  it('restores once if ten ask at once; the others learn that it exists', async () => {
    const { id } = await trashed()
    const answers = await Promise.all(Array.from({ length: 10 }, () => restore(id)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(9).fill(409)])
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.body.code).to.equal('node_exists')
    expect(refused?.headers.location).to.equal(`/orgs/${ann.org}/nodes/${id}`)
  })

  it('knows only what was deleted here', async () => {
    const missing = {
      status: 404,
      body: { detail: 'The trash of this organisation does not have this node', code: 'node_not_found' },
    }
    const { id } = await trashed()
    const { org } = await emptyOrg()
    expect(await ann.post(`/orgs/${org}/trash/${id}/restore`)).to.deep.equal(missing)
    expect(await restore(randomUUID())).to.deep.equal(missing)
    expect(await restore(id, { deleted_at: '2020-01-01T00:00:00Z' })).to.deep.equal(missing)
    expect((await restore(id, { deleted_at: 'yesterday' })).status).to.equal(422)
  })

  it('keeps an older copy while the id is in use, and gives back the copy that is asked for', async () => {
    const { id, at } = await make({ title: 'First' })
    await ann.delete(at).then(expecting(204))
    const [first] = (await ann.get(`/orgs/${ann.org}/trash?limit=1`)).body.nodes
    await ann.post(`/orgs/${ann.org}/nodes`, { id, title: 'Second' }).then(expecting(201))
    expect((await restore(id)).body).to.include({ code: 'node_exists' })
    await ann.delete(at).then(expecting(204))
    expect((await restore(id, { deleted_at: first.deleted_at }).then(expecting(200))).body.title).to.equal('First')
    await ann.delete(at).then(expecting(204))
    const copies = (await ann.get(`/orgs/${ann.org}/trash`)).body.nodes.filter((one: Trashed) => one.id === id)
    expect(copies.map(({ title }: Trashed) => title)).to.deep.equal(['First', 'Second'])
  })

  it.deep('loses a node to the purge or to its restorer, never to both', async () => {
    const { org } = await emptyOrg()
    const nodes = `/orgs/${org}/nodes`
    const all: { id: string }[] = []
    for (let count = 0; count < 40; count++) {
      const { body } = await ann.post(nodes, { title: 'Whales' }).then(expecting(201))
      await ann.delete(`${nodes}/${body.id}`).then(expecting(204))
      all.push(body)
    }
    const left = () => readdirSync(join(grove.dataDir, 'trash', org)).filter((name) => name.endsWith('.git')).length
    const purge = command(grove.dataDir, 'purge', '--older-than', '0', '--force')
    await until(() => left() < all.length)
    const answers: Answer[] = []
    for (const { id } of all.toReversed()) answers.unshift(await ann.post(`/orgs/${org}/trash/${id}/restore`))
    const { code, stderr } = await purge
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    for (const [at, { id }] of all.entries()) {
      const status = answers[at]?.status
      expect(status).to.be.oneOf([200, 404])
      expect((await ann.get(`${nodes}/${id}`)).status).to.equal(status)
    }
    await expectSound(grove.dataDir)
  })

  it('ends with its organisation', async () => {
    const { org } = await emptyOrg()
    const ids: string[] = []
    for (let count = 0; count < 6; count++) {
      const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }).then(expecting(201))).body
      await ann.delete(`/orgs/${org}/nodes/${id}`).then(expecting(204))
      ids.push(id)
    }
    const [gone, ...answers] = await Promise.all([
      ann.delete(`/orgs/${org}`),
      ...ids.map((id) => ann.post(`/orgs/${org}/trash/${id}/restore`)),
    ])
    expect(gone.status).to.equal(204)
    for (const { status, body } of answers)
      expect([status, body.code]).to.deep.be.oneOf([
        [200, undefined],
        [404, 'org_not_found'],
        [503, 'outcome_unknown'],
      ])
    expect(existsSync(join(grove.dataDir, org))).to.equal(false)
    expect((await ann.get(`/orgs/${org}/trash`)).body.code).to.equal('org_not_found')
    expect((await ann.post(`/orgs/${org}/trash/${ids[0]}/restore`)).body.code).to.equal('org_not_found')
  })

  it('has deletions of damaged repositories', async () => {
    const node = await make({ title: 'Damaged' })
    const ledger = node.git.say('rev-parse', 'refs/grove/ledger')
    for (const name of readdirSync(join(node.git.dir, 'objects/pack')))
      await rm(join(node.git.dir, 'objects/pack', name), { force: true })
    expect(ledger).to.match(/^[0-9a-f]{40}$/)
    await ann.delete(node.at).then(expecting(204))
    const { body } = await ann.get(`/orgs/${ann.org}/trash?limit=1`).then(expecting(200))
    expect(body.nodes[0]).to.include({ id: node.id })
  })
})

interface Trashed {
  readonly id: string
  readonly title: string
  readonly deleted_at: string
  readonly deleted_by?: string
  readonly kept_until: string
}

function restore(id: string, body?: object): Promise<Answer> {
  return ann.post(`/orgs/${ann.org}/trash/${id}/restore`, body)
}

async function trashed(): Promise<{ id: string }> {
  const { id, at } = await make()
  await ann.delete(at).then(expecting(204))
  return { id }
}

async function memberOf(org: string, role: string): Promise<PersonClient> {
  const person = await signUp(grove, `Member ${randomUUID()}`)
  await ann.put(`/orgs/${org}/members/${person.user.email}`, { role }).then(expecting(200))
  return person
}
