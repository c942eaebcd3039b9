/** Links that a text names by title, after the nodes that they name have other titles, or are made elsewhere. */

import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { connectionId } from '../../server/markdown/connection-ids.ts'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'
import { formsOf } from './forms.ts'

describe('a link that was written in the editor', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let send: Awaited<ReturnType<typeof formsOf>>

  before(async () => {
    send = await formsOf(grove, ann)
  })

  const at = (id: string) => `/orgs/${ann.org}/nodes/${id}`
  const page = (id: string) => pageAt(ann.org, id)
  const add = async (title: string, text_content = ''): Promise<string> =>
    (await made(ann.post(`/orgs/${ann.org}/nodes`, { title, text_content }))).id
  const write = async (id: string, text: string, title?: string) => {
    const node = (await ann.get(at(id)).then(expecting(200))).body
    const fields = { head: node.head, title: title ?? node.title, text, message: '', act: 'save' }
    expect((await send(`${page(id)}/edit`, fields)).status).to.equal(303)
  }
  const rename = (id: string, title: string) => ann.patch(at(id), { title }).then(expecting(200))
  const shown = async (id: string): Promise<string> => (await readPage(ann, page(id))).body
  const ledTo = async (id: string) =>
    (await ann.get(`${at(id)}/links`).then(expecting(200))).body.links.map(
      (link: { target: string; node?: { id: string } }) => [link.target, link.node?.id],
    )

  it('leads to its node after the node was renamed', async () => {
    const otters = await add('Otters')
    const from = await add('From')
    await write(from, 'See [[Otters]] and ![[Otters]].')
    await rename(otters, 'Sea otters')
    expect(await ledTo(from)).to.deep.equal([
      ['Otters', otters],
      ['Otters', otters],
    ])
    expect(await shown(from)).to.not.contain('/new?title=Otters')
    await write(from, 'See [[Otters]], or [[Sea otters]].')
    await rename(otters, 'Enhydra')
    expect(await ledTo(from)).to.deep.equal([
      ['Otters', otters],
      ['Sea otters', otters],
    ])
  })

  it('does so whatever its name, and names that differ in signs alone stay apart', async () => {
    const names = ['C', 'C++', 'Käse', 'Kase', '獺', '鯨', `${'Long '.repeat(20)}one`, `${'Long '.repeat(20)}two`]
    const nodes = await Promise.all(names.map((name) => add(name)))
    const from = await add('Names')
    await write(from, names.map((name) => `[[${name}]] `).join(''))
    for (const [n, id] of nodes.entries()) await rename(id, `Other ${n}`)
    expect(await ledTo(from)).to.deep.equal(names.map((name, n) => [name, nodes[n]]))
    await write(from, '[[C]] and [[C#]].')
    expect(await ledTo(from)).to.deep.equal([
      ['C', nodes[0]],
      ['C#', nodes[0]],
    ])
  })

  it('does so of a node that was made by following it, under another title', async () => {
    const from = await add('First', '[[Ottres]]')
    const id = '01980a60-2a00-7e55-94c6-8e0f1a2b3c99'
    const fields = {
      ...{ id, from, named: 'Ottres' },
      title: 'Otters of the sea',
      text: '',
      message: '',
      act: 'create',
    }
    expect((await send(`${pageAt(ann.org)}/new`, fields)).status).to.equal(303)
    expect(await ledTo(from)).to.deep.equal([['Ottres', id]])
  })

  it('connects once, however often the text is saved', async () => {
    const [lynx, from] = [await add('Lynx'), await add('Often')]
    for (const text of ['[[Lynx]]', '[[Lynx]] again', '[[lynx]] and [[x/Lynx.md]]']) await write(from, text)
    const { connections } = (await ann.get(at(from)).then(expecting(200))).body
    expect(connections.map(({ target, type }: { target: string; type: string }) => [target, type])).to.deep.equal([
      [lynx, 'links_to'],
    ])
  })

  it('leads to the page of its name that was made elsewhere, however that was', async () => {
    const from = await add('Before', '[[Marten]]')
    expect(await shown(from)).to.contain('/new?title=Marten')
    const marten = await add('Marten')
    expect(await shown(from)).to.not.contain('/new?title=')
    expect(await shown(from)).to.contain(`href="${page(marten)}"`)
    expect(await ledTo(from)).to.deep.equal([['Marten', marten]])
  })

  it('does not lead to a form that makes a second page of the title by accident', async () => {
    const [from, stoat] = [await add('Old tab', '[[Stoat]]'), await add('Stoat')]
    const form = await readPage(ann, `${pageAt(ann.org)}/new?title=Stoat&from=${from}`).then(expecting(200))
    expect(form.body).to.contain('A page with this title already exists')
    expect(form.body).to.contain(`href="${page(stoat)}"`)
    expect(form.body).to.contain(`name="existing" value="${stoat}"`)
    const id = '01980a60-2a00-7e55-94c6-8e0f1a2b3c98'
    const fields = { id, from, named: 'Stoat', title: 'stoat', text: 'My words.', message: '' }
    const refused = await send(`${pageAt(ann.org)}/new`, { ...fields, act: 'create' })
    expect(refused.status).to.equal(409)
    for (const said of ['Create a second page', 'My words.', `href="${page(stoat)}"`])
      expect(refused.body).to.contain(said)
    expect(await titled('stoat')).to.deep.equal([stoat])
    const linked = await send(`${pageAt(ann.org)}/new`, { act: 'link', from, named: 'Stoat', existing: stoat })
    expect([linked.status, linked.headers.location]).to.deep.equal([303, page(from)])
    expect(await ledTo(from)).to.deep.equal([['Stoat', stoat]])
    // A deliberate act, which may also be sent twice.
    for (const act of ['another', 'create'])
      expect((await send(`${pageAt(ann.org)}/new`, { ...fields, act })).status).to.equal(303)
    expect(await titled('stoat')).to.have.members([stoat, id])
    expect(await ledTo(from)).to.deep.equal([['Stoat', stoat]])
  })

  it('leads to a form that says where the new page will be, and offers the other place', async () => {
    const from = await add('Rivers & lakes', '[[Weasel]]')
    const at = `${pageAt(ann.org)}/new?title=Weasel&from=${from}`
    const pathIn = (html: string) => /<nav class="path"[\s\S]*?<\/nav>/.exec(html)?.[0] ?? ''
    const top = await readPage(ann, at).then(expecting(200))
    expect(pathIn(top.body)).to.not.contain(page(from))
    expect(top.body).to.contain('links to this page, which will be at the top of')
    expect(top.body).to.contain(`${at.replaceAll('&', '&amp;')}&amp;parent=${from}"`)
    const below = await readPage(ann, `${at}&parent=${from}`).then(expecting(200))
    expect(pathIn(below.body)).to.contain(`href="${page(from)}"`)
    expect(below.body).to.contain('New page under Rivers &amp; lakes').and.not.contain('which will be at the top of')
    const id = '01980a60-2a00-7e55-94c6-8e0f1a2b3ca7'
    const fields = { id, from, parent: from, named: 'Weasel', title: 'Weasel', text: 'Small.', message: '' }
    expect((await send(`${pageAt(ann.org)}/new`, { ...fields, act: 'create' })).status).to.equal(303)
    const { parents } = (await ann.get(`/orgs/${ann.org}/nodes/${id}`).then(expecting(200))).body
    expect(parents.map((parent: { id: string }) => parent.id)).to.deep.equal([from])
    expect(await ledTo(from)).to.deep.equal([['Weasel', id]])
  })
  const titled = async (title: string): Promise<string[]> =>
    (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body.nodes
      .filter((node: { title: string }) => node.title.toLowerCase() === title)
      .map(({ id }: { id: string }) => id)

  it('is named by a digest of SHA-256', () => {
    for (let length = 0; length < 200; length++) {
      const target = `${'獺'.repeat(length % 5)}${'x'.repeat(length)}`
      const digest = createHash('sha256').update(`links_to ${target}`).digest('hex')
      expect(connectionId('', 'links_to', target)).to.equal(digest.slice(0, 10))
    }
  })
})
