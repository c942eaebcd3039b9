/** Queries that are only words, whatever syntax they contain. */
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'

describe('a query of plain words', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  const query = 'status:done'
  let done: string
  let note: string
  before(async () => {
    const create = async (body: object) => (await ann.post(`/orgs/${ann.org}/nodes`, body).then(expecting(201))).body.id
    done = await create({ title: 'Harbour', properties: { status: 'done' } })
    note = await create({ title: 'Columns', text_content: 'The board says status:done for what is over.' })
  })

  const find = async (asked: object) => {
    const { body } = await ann.post(`/orgs/${ann.org}/search/retrieve`, asked).then(expecting(200))
    return { ids: body.matches.map(({ node_id }: { node_id: string }) => node_id), conditions: body.conditions }
  }

  it('has no condition, phrase or excluded word', async () => {
    expect((await find({ query })).ids).to.deep.equal([done])
    const syntax = 'plain'
    expect(await find({ query, syntax })).to.deep.equal({ ids: [note], conditions: undefined })
    const operators = 'status:done -board "says for" tag:sea'
    expect((await find({ query: operators })).ids).to.deep.equal([])
    expect(await find({ query: operators, syntax })).to.deep.equal({ ids: [note], conditions: undefined })
    expect((await find({ query, syntax, scope: { where: query } })).ids, 'in a filter').to.deep.equal([])
  })

  it('can be asked on the page, also from its conditions', async () => {
    const read = async (path: string) => (await readPage(ann, path)).body as string
    const titlesIn = (html: string) =>
      [...html.replace(/[\s\S]*<main/, '').matchAll(/<a class="t"[^>]*>(?:<span>)?(\w+)/g)].map(([, title]) => title)
    const page = await read(`${pageAt(ann.org)}/find?q=${query}`)
    const [, link = ''] = /<a href="([^"]*)">Search for these words instead/.exec(page) ?? []
    expect([titlesIn(page), page.includes('checked')]).to.deep.equal([['Harbour'], false])
    const { pathname, search } = new URL(link.replaceAll('&amp;', '&'), grove.url)
    const plain = await read(pathname + search)
    expect(plain).to.match(/<input type="checkbox" name="syntax" value="plain" form="find" checked/)
    expect([titlesIn(plain), plain.includes('these words instead')]).to.deep.equal([['Columns'], false])
  })

  it.deep('can be asked by models', async () => {
    const token = (await ann.post('/auth/tokens', { name: 'Model', access: 'read' }).then(expecting(201))).body.token
    const ask = async (more: object) => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      }
      const params = { name: 'search', arguments: { org_id: ann.org, query, ...more } }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      return (await fetch(`${grove.url}/mcp`, { method: 'POST', headers, body })).text()
    }
    expect(await ask({}))
      .to.include(done)
      .and.to.not.include(note)
    expect(await ask({ syntax: 'plain' }))
      .to.include(note)
      .and.to.not.include(done)
  })
})
