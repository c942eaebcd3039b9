/** Names in texts: which node they lead to after renames, and after another node takes a name. */

import { expect } from 'chai'
import { connectionId, keyOfName } from '../../server/markdown/connection-ids.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('a name in a text', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let count = 0

  const titled = (title: string, fields: object = {}) => newNode(grove, ann, { title, ...fields })
  const text = (text_content: string, fields: object = {}) => titled(`Text ${++count}`, { text_content, ...fields })
  const rename = ({ at }: TestNode, title: string) => ann.patch(at, { title }).then(expecting(200))
  const leads = async ({ at }: TestNode, revision = 'main') =>
    (await ann.get(`${at}/links?revision=${encodeURIComponent(revision)}`).then(expecting(200))).body.links.map(
      (link: { node?: { id: string }; reason?: string }) => link.node?.id ?? link.reason,
    )
  const connect = (from: TestNode, to: TestNode, fields: object = {}) =>
    ann.post(`${from.at}/connections`, { target: to.id, ...fields }).then(expecting(201))
  /** The id that the editor gives the connection of a link. */
  const made = (name: string, to: TestNode, type = 'links_to') => ({
    id: connectionId(keyOfName(name), type, to.id),
    type,
  })

  it('leads to the node of this title, however and whenever that was made', async () => {
    const from = await text('[[Lynx]] ![[lynx]] [[ÉCOLE NORMALE]] [[x/Lynx.md]] [Lynx](Lynx.md)')
    expect(await leads(from)).to.deep.equal(Array(5).fill('not_found'))
    const [lynx, school] = [await titled('Lynx'), await titled('École normale')]
    expect(await leads(from)).to.deep.equal([lynx.id, lynx.id, school.id, lynx.id, 'not_found'])
    await rename(lynx, 'Caracal')
    expect(await leads(from)).to.deep.equal(['not_found', 'not_found', school.id, 'not_found', 'not_found'])
  })

  it('leads to a node that a push or a folder has made', async () => {
    const from = await text('[[Heron]] [[Egret]]')
    const heron = await titled('Draft of a bird')
    await heron.commit('main', { 'node.json': JSON.stringify({ title: 'Heron' }) })
    const egret = await titled('Egret', { properties: { source_path: 'birds/white one.md' } })
    expect(await leads(from)).to.deep.equal([heron.id, egret.id])
  })

  it('leads nowhere if two nodes have the title, and to the one that remains', async () => {
    const [one, two] = [await titled('Twin'), await titled('twin')]
    const from = await text('[[Twin]]')
    expect(await leads(from)).to.deep.equal(['not_found'])
    await ann.delete(one.at).then(expecting(204))
    expect(await leads(from)).to.deep.equal([two.id])
  })

  it('leads to the node of this alias, and keeps doing so', async () => {
    const from = await text('[[Panthera leo]]')
    const lion = await titled('Lion', { properties: { aliases: ['Panthera leo'] } })
    expect(await leads(from)).to.deep.equal([lion.id])
    await rename(lion, 'King')
    expect(await leads(from)).to.deep.equal([lion.id])
    const other = await titled('Panthera leo')
    expect(await leads(from)).to.deep.equal([other.id])
  })

  it('stays with its connection after two renames, also on branches and at older commits', async () => {
    const otter = await titled('Otter')
    const from = await text('[[Otter]] and ![[Otter]]')
    await connect(from, otter, made('Otter', otter))
    await connect(from, otter, made('Otter', otter, 'embeds'))
    const head = (await ann.get(from.at).then(expecting(200))).body.head
    await from.branch('dev')
    await from.commit('main', { 'content.md': 'Nothing.' })
    await rename(otter, 'Sea otter')
    await rename(otter, 'Enhydra')
    for (const revision of ['dev', head]) expect(await leads(from, revision)).to.deep.equal([otter.id, otter.id])
  })

  it('leads to the same node at commits from before its connection', async () => {
    const mink = await titled('Mink')
    const from = await text('[[Mink]]')
    const head = (await ann.get(from.at).then(expecting(200))).body.head
    await connect(from, mink, made('Mink', mink))
    await rename(mink, 'Neogale')
    for (const revision of ['main', head]) expect(await leads(from, revision)).to.deep.equal([mink.id])
  })

  it('stays with a connection of REST whose target had the title', async () => {
    const [otter, wolf] = [await titled('River otter'), await titled('Wolf')]
    const from = await text('[[River otter]] [[Wolf]] [[wolf]]')
    await connect(from, otter, { type: 'links_to' })
    await connect(from, wolf)
    for (const title of ['Lontra', 'Lontra canadensis']) await rename(otter, title)
    await rename(wolf, 'Canis lupus')
    expect(await leads(from)).to.deep.equal([otter.id, wolf.id, wolf.id])
    // A page that takes the name: the connection of a link wins for the text that it is in, and for no other.
    const [another, beast] = [await titled('River otter'), await titled('Wolf')]
    expect(await leads(from)).to.deep.equal([otter.id, beast.id, beast.id])
    expect(await leads(await text('[[River otter]] [[Wolf]]'))).to.deep.equal([another.id, beast.id])
  })

  it('stays with the connection that its text made, whatever takes the name', async () => {
    const seal = await titled('Seal')
    const from = await text('[[Seal]] [[seals/Seal]]')
    await connect(from, seal, made('Seal', seal))
    await rename(seal, 'Phoca')
    const another = await titled('Seal')
    const imported = await titled('Seal of a folder', { properties: { source_path: 'Seal.md' } })
    expect(await leads(from)).to.deep.equal([seal.id, seal.id])
    expect(await leads(await text('[[Seal]]'))).to.deep.equal([imported.id])
    await ann.delete(imported.at).then(expecting(204))
    expect(await leads(await text('[[Seal]]'))).to.deep.equal([another.id])
    // Without its node, the connection holds nothing.
    await ann.delete(seal.at).then(expecting(204))
    expect(await leads(from)).to.deep.equal([another.id, another.id])
    await ann.delete(another.at).then(expecting(204))
    expect(await leads(from)).to.deep.equal(['deleted', 'deleted'])
  })

  it('says nothing of other nodes to a token of one node', async () => {
    const from = await text('[[Hidden]]')
    await titled('Hidden')
    const body = { name: 'one', access: 'read', node_id: from.id, org_id: ann.org }
    const { token } = (await ann.post('/auth/tokens', body).then(expecting(201))).body
    const { body: seen } = await client(grove, token).get(`${from.at}/links`).then(expecting(200))
    expect(seen.links.map(({ kind }: { kind: string }) => kind)).to.deep.equal(['missing'])
  })
})
