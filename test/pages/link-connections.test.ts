/** The connections of links, as texts change in the editor, in proposals and by restoring. */

import { expect } from 'chai'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, useService } from '../import/command.ts'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import type { Answer } from '../support/people.ts'
import { formsOf } from './forms.ts'

describe('the connection of a link', () => {
  useService()
  let org: string
  let send: Awaited<ReturnType<typeof formsOf>>

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Links' }))).id
    send = await formsOf(grove, ann)
  })

  const at = (id: string, of = org) => `/orgs/${of}/nodes/${id}`
  const page = (id: string, of = org) => pageAt(of, id)
  const add = async (title: string, fields: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, ...fields }))).id
  const nodeAt = async (id: string, of = org) => (await ann.get(at(id, of)).then(expecting(200))).body
  const edit = async (id: string, text: string, act = 'save', of = org): Promise<Answer> => {
    const { head, title } = await nodeAt(id, of)
    const answer = await send(`${page(id, of)}/edit`, { head, title, text, message: '', act })
    expect(answer.status).to.equal(303)
    return answer
  }
  /** `type title` of the connections that the node holds. */
  const held = async (id: string, of = org): Promise<string[]> => {
    const { connections } = await nodeAt(id, of)
    return connections
      .filter(({ source }: { source: string }) => source === id)
      .map(({ type, target_title }: { type: string; target_title: string }) => `${type} ${target_title}`)
      .sort()
  }
  const files = async (id: string, of = org) =>
    (await ann.get(`${at(id, of)}/tree/main?limit=200`).then(expecting(200))).body.entities
      .map(({ entity_key }: { entity_key: string }) => entity_key)
      .filter((path: string) => path.startsWith('connections/'))

  it('goes with the last link to its node, by type', async () => {
    const [from] = [await add('From 1'), await add('Ant'), await add('Bee')]
    await edit(from, '[[Ant]] ![[Ant]] [[Bee|bees]] and [[ant#Legs]]')
    expect(await held(from)).to.deep.equal(['embeds Ant', 'links_to Ant', 'links_to Bee'])
    await edit(from, '[[ant#Legs]] [[Bee]]')
    expect(await held(from)).to.deep.equal(['links_to Ant', 'links_to Bee'])
    await edit(from, '`[[Ant]]` <!-- [[Bee]] --> [[Bee')
    expect(await held(from)).to.deep.equal([])
    expect(await files(from)).to.deep.equal([])
  })

  it('stays if it was not made from the text', async () => {
    const [from, cat] = [await add('From 2'), await add('Cat')]
    const connect = (fields: object) =>
      ann.post(`${at(from)}/connections`, { target: cat, ...fields }).then(expecting(201))
    await connect({ type: 'links_to', id: 'by-hand' })
    await connect({ type: 'feeds_on' })
    await edit(from, '[[Cat]]')
    expect(await held(from)).to.deep.equal(['feeds_on Cat', 'links_to Cat', 'links_to Cat'])
    await edit(from, 'Nothing.')
    expect(await held(from)).to.deep.equal(['feeds_on Cat', 'links_to Cat'])
  })

  it('is replaced if the link gets the new name', async () => {
    const [from, dog] = [await add('From 3'), await add('Dog')]
    await edit(from, '[[Dog]]')
    await ann.patch(at(dog), { title: 'Hound' }).then(expecting(200))
    await edit(from, '[[Dog]] still')
    expect(await files(from)).to.have.length(1)
    await edit(from, '[[Hound]]')
    expect(await held(from)).to.deep.equal(['links_to Hound'])
    expect((await files(from))[0]).to.contain('connections/hound-')
  })

  it('is added at the next save of a text whose title was made since', async () => {
    const from = await add('From 4', { text_content: '[[Eel]] [[Anguilla]]' })
    await add('Eel', { properties: { aliases: ['Anguilla'] } })
    expect(await held(from)).to.deep.equal([])
    await edit(from, '[[Eel]] [[Anguilla]] and more')
    expect(await held(from)).to.deep.equal(['links_to Eel', 'links_to Eel'])
    await edit(from, '[[Anguilla]]')
    expect(await held(from)).to.deep.equal(['links_to Eel'])
  })

  it('goes with a proposal, which says so, and not before it is merged', async () => {
    const [from] = [await add('From 5'), await add('Fox'), await add('Goat')]
    await edit(from, '[[Fox]] [[Goat]]')
    const { headers } = await edit(from, '[[Goat]]', 'propose')
    expect(await held(from)).to.deep.equal(['links_to Fox', 'links_to Goat'])
    const number = headers.location?.split('/').at(-1)
    const impact = (await ann.get(`${at(from)}/pull-requests/${number}/impact`).then(expecting(200))).body
    expect(impact.edges_removed.map((edge: { target_title: string }) => edge.target_title)).to.deep.equal(['Fox'])
    const shown = (await readPage(ann, headers.location ?? '').then(expecting(200))).body
    expect(shown).to.match(/Links that change[\s\S]*1 link removed/)
    await ann.post(`${at(from)}/pull-requests/${number}/merge`, {}).then(expecting(200))
    expect(await held(from)).to.deep.equal(['links_to Goat'])
  })

  it('comes back when its text is restored, and goes when the change is undone', async () => {
    const from = await add('From 6')
    await add('Hen')
    await edit(from, '[[Hen]]')
    const { head } = await nodeAt(from)
    await edit(from, 'No hen.')
    expect(await held(from)).to.deep.equal([])
    const now = await nodeAt(from)
    const restored = { branch: 'main', head: now.head, message: '', act: 'restore' }
    expect((await send(`${page(from)}/commits/${head}/restore`, restored)).status).to.equal(303)
    expect(await held(from)).to.deep.equal(['links_to Hen'])
    const { headers } = await edit(from, 'Proposed without.', 'propose')
    const number = headers.location?.split('/').at(-1)
    await ann.post(`${at(from)}/pull-requests/${number}/merge`, {}).then(expecting(200))
    expect(await held(from)).to.deep.equal([])
    const undone = await send(`${page(from)}/proposals/${number}/undo`, {})
    const back = undone.headers.location?.split('/').at(-1)
    await ann.post(`${at(from)}/pull-requests/${back}/merge`, {}).then(expecting(200))
    expect([await held(from), (await nodeAt(from)).text_content]).to.deep.equal([['links_to Hen'], '[[Hen]]'])
  })

  it('of an imported text goes with its last link, however that is written', async () => {
    const text = '[[Ibis]] and [the bird](birds/Ibis.md), [[Jay]], [jay](birds/Jay.md), [[Tern|t]]\n'
    const vault = {
      'From.md': text,
      'birds/Ibis.md': '---\naliases: [Tern]\n---\n# White ibis\n',
      'birds/Jay.md': 'A jay.\n',
    }
    const folder = await folderOf('Birds', vault)
    const of = orgIn(await importAs(folder))
    const from = (await nodesOf(of)).get('From')?.id ?? ''
    const before = await files(from, of)
    expect(await held(from, of)).to.deep.equal(['links_to Jay', 'links_to White ibis'])
    await edit(from, `${text}\nOne more line.\n`, 'save', of)
    expect(await files(from, of)).to.deep.equal(before)
    await edit(from, 'Only [the bird](birds/Ibis.md), [[Tern|t]] and [[Jay]].\n', 'save', of)
    expect(await files(from, of)).to.deep.equal(before)
    await edit(from, 'Only [[Tern|t]].\n', 'save', of)
    expect(await held(from, of)).to.deep.equal(['links_to White ibis'])
    await edit(from, 'None.\n', 'save', of)
    expect(await held(from, of)).to.deep.equal([])
  })

  it('of a folder goes with its link at the next import', async () => {
    const folder = await folderOf('Fish', { 'From.md': '[[Koi]] [[Ling]]\n', 'Koi.md': '', 'Ling.md': '' })
    const of = orgIn(await importAs(folder))
    const from = (await nodesOf(of)).get('From')?.id ?? ''
    expect(await held(from, of)).to.deep.equal(['links_to Koi', 'links_to Ling'])
    const { writeFile } = await import('node:fs/promises')
    await writeFile(`${folder}/From.md`, '[[Ling]]\n')
    await importAs(folder)
    expect(await held(from, of)).to.deep.equal(['links_to Ling'])
  })

  it('is what a commit of REST says, whatever its text', async () => {
    const [from] = [await add('From 7'), await add('Mole')]
    await edit(from, '[[Mole]]')
    const changes = [{ action: 'put', path: 'content.md', content: 'No mole.' }]
    await ann.post(`${at(from)}/tree/main/commits`, { message: 'Write', changes }).then(expecting(201))
    expect(await held(from)).to.deep.equal(['links_to Mole'])
  })
})
