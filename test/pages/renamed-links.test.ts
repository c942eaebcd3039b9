/** Links that a text names by title, after the nodes that they name have other titles, or are made elsewhere. */

import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { connectionId } from '../../server/markdown/connection-ids.ts'
import { made } from '../support/cast.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { formsOf } from './forms.ts'

describe('a link that was written in the editor', () => {
  let grove: Grove
  let ann: PersonClient
  let send: Awaited<ReturnType<typeof formsOf>>

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    send = await formsOf(grove, ann)
  })
  after(() => grove.close())

  const at = (id: string) => `/orgs/${ann.org}/nodes/${id}`
  const page = (id: string) => `/o/${ann.org}/n/${id}`
  const add = async (title: string, text_content = ''): Promise<string> =>
    (await made(ann.post(`/orgs/${ann.org}/nodes`, { title, text_content }))).id
  const write = async (id: string, text: string, title?: string) => {
    const node = (await ann.get(at(id)).then(expecting(200))).body
    const fields = { head: node.head, title: title ?? node.title, text, message: '', act: 'save' }
    expect((await send(`${page(id)}/edit`, fields)).status).to.equal(303)
  }
  const rename = (id: string, title: string) => ann.patch(at(id), { title }).then(expecting(200))
  const shown = async (id: string): Promise<string> =>
    (await ann.get(page(id), { accept: 'text/html' }).then(followed)).body
  const followed = async (answer: Answer) =>
    answer.status === 301 ? ann.get(answer.headers.location ?? '', { accept: 'text/html' }) : answer
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
    expect((await send(`/o/${ann.org}/new`, fields)).status).to.equal(303)
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

  it('is offered the node of its name that was made elsewhere', async () => {
    const from = await add('Before', '[[Marten]]')
    const marten = await add('Marten')
    const [, to = ''] = (await shown(from)).match(/href="([^"]*\/new\?title=[^"]*)"/) ?? []
    const asked = await ann.get(to.replaceAll('&amp;', '&'), { accept: 'text/html' }).then(expecting(200))
    expect(asked.body).to.contain('A node with this title already exists')
    expect(asked.body).to.contain(`name="existing" value="${marten}"`)
    const answer = await send(`/o/${ann.org}/new`, { act: 'link', from, named: 'Marten', existing: marten })
    expect([answer.status, answer.headers.location]).to.deep.equal([303, page(from)])
    expect(await ledTo(from)).to.deep.equal([['Marten', marten]])
    expect((await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body.nodes.filter(isMarten)).to.have.length(1)
  })
  const isMarten = ({ title }: { title: string }) => title === 'Marten'

  it('is named by a digest of SHA-256', () => {
    for (let length = 0; length < 200; length++) {
      const target = `${'獺'.repeat(length % 5)}${'x'.repeat(length)}`
      const digest = createHash('sha256').update(`links_to ${target}`).digest('hex')
      expect(connectionId('', 'links_to', target)).to.equal(digest.slice(0, 10))
    }
  })
})
