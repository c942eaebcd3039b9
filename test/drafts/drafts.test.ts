/** Drafts over REST: what a user has typed and not saved. Git is the oracle of what is stored. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import type { Client, PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('drafts', () => {
  const { ann, bob, eve, grove, newUser, pass } = useWorld(
    { ann: 'owner', bob: 'contributor', eve: 'reader' },
    { clock: true },
  )
  const at = (id = '') => `/orgs/${ann.org}/drafts${id && `/${id}`}`
  const org = () => gitIn(grove, ann.org, 'org')
  const refOf = ({ user }: PersonClient, id: string) => `refs/grove/drafts/${user.id.slice(-12)}/${id}`
  const put = (who: Client, id: string, text: string, version: string | null = null, more: object = {}) =>
    who.put(at(id), { node_id: randomUUID(), title: '', text_content: text, expected_version: version, ...more })
  const seqOf = async () => (await ann.get(`/orgs/${ann.org}/events?limit=1`).then(expecting(200))).body

  it('are one commit without a parent, which the next version replaces', async () => {
    const [id, node_id] = [randomUUID(), randomUUID()]
    const more = { node_id, head: '1'.repeat(40), title: ' ', message: 'Why', form: 'tags=sea', is_new: true }
    const first = (await put(bob, id, 'Wha', null, more).then(expecting(200))).body
    expect(first).to.deep.include({ ...more, id, branch: 'main', text_content: 'Wha' })
    expect(org().say('rev-parse', refOf(bob, id))).to.equal(first.version)
    const second = (await put(bob, id, 'Whales\r\n', first.version, more).then(expecting(200))).body
    expect(org().say('rev-parse', refOf(bob, id))).to.equal(second.version)
    expect(org().lines('log', '--format=%an%P', second.version)).to.deep.equal(['Bob'])
    expect(
      org()
        .run(['show', `${second.version}:content.md`])
        .toString(),
    ).to.equal('Whales\r\n')
    expect((await put(bob, id, 'Whales\r\n', first.version, more).then(expecting(200))).body).to.deep.equal(second)
    const moved = await put(bob, id, 'Seals', first.version, more)
    expect([moved.status, moved.body.code, moved.body.current_version]).to.deep.equal([
      409,
      'version_moved',
      second.version,
    ])
    expect((await put(bob, id, 'Seals')).body.code).to.equal('version_moved')
    expect((await bob.get(at(id)).then(expecting(200))).body).to.deep.equal(second)
    await bob.delete(at(id)).then(expecting(204))
    expect((await bob.get(at(id))).body.code).to.equal('draft_not_found')
    expect((await bob.delete(at(id))).body.code).to.equal('draft_not_found')
    expect((await put(bob, id, 'Seals', second.version)).body).to.include({
      code: 'version_moved',
      current_version: null,
    })
    org().fsck()
  })

  it('are listed without their texts, the last saved first, in one organisation and in all', async () => {
    const [whales, seals] = [randomUUID(), randomUUID()]
    const node_id = randomUUID()
    await put(ann, whales, 'Whales sing', null, { node_id }).then(expecting(200))
    pass(2)
    await put(ann, seals, 'Seals bark').then(expecting(200))
    const listed = (await ann.get(at()).then(expecting(200))).body
    expect(listed.drafts.map(({ id }: { id: string }) => id)).to.deep.equal([seals, whales])
    expect(listed.drafts[0]).to.not.have.any.keys('text_content', 'writer')
    const ofNode = (await ann.get(`${at()}?node_id=${node_id}`).then(expecting(200))).body
    expect(ofNode.drafts.map(({ id }: { id: string }) => id)).to.deep.equal([whales])
    const all = (await ann.get('/drafts?limit=1').then(expecting(200))).body
    expect(all).to.deep.include({ total: 2, elsewhere: {} })
    expect(all.drafts[0]).to.deep.include({ id: seals, org_id: ann.org })
  })

  it('are read by nobody else, and leave no event, no match and no other trace', async () => {
    const node = await ann.node({ title: 'Oceans' })
    const before = [await seqOf(), (await ann.get(node.at)).headers.etag]
    const id = randomUUID()
    await put(bob, id, 'xylophones', null, { node_id: node.id, title: 'Xylophones' }).then(expecting(200))
    for (const other of [ann, eve]) {
      expect((await other.get(at(id))).status).to.equal(404)
      expect((await other.delete(at(id))).status).to.equal(404)
      expect(JSON.stringify((await other.get(at())).body)).to.not.include(id)
    }
    // The id is free for others: it is part of the name of a ref.
    await put(ann, id, 'Mine').then(expecting(200))
    expect((await bob.get(at(id))).body.text_content).to.equal('xylophones')
    const asked = { query: 'xylophones' }
    const { body } = await ann.post(`/orgs/${ann.org}/search/retrieve`, asked).then(expecting(200))
    expect(JSON.stringify(body)).to.not.include(node.id)
    await grove.settled()
    expect([await seqOf(), (await ann.get(node.at)).headers.etag]).to.deep.equal(before)
  })

  it.deep('are written by those who propose, with up to 1 MiB and 100 of each', async () => {
    expect((await put(eve, randomUUID(), 'No')).body.code).to.equal('forbidden')
    const long = await put(bob, randomUUID(), 'é'.repeat(600_000))
    expect([long.status, long.body.detail[0].loc]).to.deep.equal([422, ['body', 'text_content']])
    await put(bob, randomUUID(), 'é'.repeat(500_000)).then(expecting(200))
    for (const { id } of (await bob.get(`${at()}?limit=200`)).body.drafts) await bob.delete(at(id)).then(expecting(204))
    const ids = Array.from({ length: 100 }, () => randomUUID())
    for (let n = 0; n < 100; n += 10)
      await Promise.all(ids.slice(n, n + 10).map((id) => put(bob, id, id).then(expecting(200))))
    const more = await put(bob, randomUUID(), 'more')
    expect([more.status, more.body.code]).to.deep.equal([409, 'too_many_drafts'])
    await put(ann, randomUUID(), 'hers').then(expecting(200))
  })

  it('are removed when their writer leaves, and after 90 days', async () => {
    const kept = () => org().lines('for-each-ref', '--format=%(refname)', 'refs/grove/drafts')
    const [cys, anns] = [randomUUID(), randomUUID()]
    const cy = await newUser('Cy', 'editor')
    await put(cy, cys, 'Whales').then(expecting(200))
    await put(ann, anns, 'Whales').then(expecting(200))
    await ann.delete(`/orgs/${ann.org}/members/cy@example.org`).then(expecting(204))
    pass(2 * 3_600)
    await grove.settled()
    expect(kept()).to.include(refOf(ann, anns)).and.not.include(refOf(cy, cys))
    pass(91 * 86_400)
    await grove.settled()
    expect(kept()).to.deep.equal([])
  })
})
