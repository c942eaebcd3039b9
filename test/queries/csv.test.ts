/** Nodes as CSV, read again by a strict reader. */

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import type { Headers } from '../support/exchange.ts'
import { expecting, newNode } from '../support/node.ts'
import { type Answer, client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { readCsv } from './rfc4180.ts'

/** Nodes of the large organisation. Their texts are more than sockets hold. */
const many = 3_000

describe('nodes as CSV', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  before(async () => {
    org = (await ann.post('/orgs', { name: 'Küche & Co "x"' }).then(expecting(201))).body.id
  })

  const addressOf = (query: Readonly<Record<string, string>>, at = org) =>
    `/orgs/${at}/nodes?${new URLSearchParams(query)}`
  const ask = (query: Readonly<Record<string, string>> = {}, at = org): Promise<Answer> =>
    ann.get(addressOf(query, at), { accept: 'text/csv' })
  const read = async (query: Readonly<Record<string, string>> = {}, at = org): Promise<string[][]> =>
    readCsv((await ask(query, at).then(expecting(200))).body)
  const addNode = async (node: object): Promise<string> =>
    (await ann.post(`/orgs/${org}/nodes`, node).then(expecting(201))).body.id

  it('have each value at its place, as it is written', async () => {
    const written: readonly (readonly [unknown, string])[] = [
      ['ß, é and e\u0301 😀', 'ß, é and e\u0301 😀'],
      ['"quoted", he said', '"quoted", he said'],
      ['two\nlines\r\nand three', 'two\nlines\r\nand three'],
      [' spaces ', ' spaces '],
      ['=1+1', "'=1+1"],
      ['+49 30', "'+49 30"],
      ['-', "'-"],
      ['@SUM(A1)', "'@SUM(A1)"],
      ['\t=1', "'\t=1"],
      ['\r=1', "'\r=1"],
      ['=cmd|"/c calc"!A1, "x"', '\'=cmd|"/c calc"!A1, "x"'],
      ["'=1", "'=1"],
      [-5, '-5'],
      [-0.25, '-0.25'],
      ['-5', "'-5"],
      [1e21, '1e+21'],
      [true, 'true'],
      [false, 'false'],
      [null, ''],
      ['', ''],
      ['2026-12-01', '2026-12-01'],
      ['2026-12-01T10:00:00+01:00', '2026-12-01T10:00:00+01:00'],
      [[], ''],
      [['a'], 'a'],
      [[-1], '-1'],
      [['a', 'b, c', 3, true], 'a; b, c; 3; true'],
      [['=1', 'b'], "'=1; b"],
      [['a; b', 'c'], '["a; b","c"]'],
      [['a', ''], '["a",""]'],
      [['a', ['b']], '["a",["b"]]'],
      [['a', null], '["a",null]'],
      [{ a: { b: 'c"' } }, '{"a":{"b":"c\\""}}'],
    ]
    const ids: string[] = []
    for (const [n, [value]] of written.entries()) ids.push(await addNode({ title: `V${n}`, properties: { value, n } }))
    const [header, ...rows] = await read({ columns: 'id,value', where: 'n:*', sort: 'n' })
    expect(header).to.deep.equal(['id', 'value'])
    expect(rows).to.deep.equal(written.map(([, text], n) => [ids[n], text]))
    const narrow = (await ask({ columns: 'value', where: 'n=17,18,19', sort: 'n' }).then(expecting(200))).body
    expect(narrow).to.equal('\uFEFFvalue\r\nfalse\r\n""\r\n""\r\n')
  })

  it('have the fields and the most used properties by default', async () => {
    const id = await addNode({ title: '=Soup', tags: ['sea', 'food/hot'], properties: { n: 99, '=cmd()': 'x' } })
    const { body } = await ann.get(`/orgs/${org}/nodes/${id}`).then(expecting(200))
    const [header, row, ...others] = await read({ where: `id:${id}` })
    expect(header).to.deep.equal(['id', 'title', 'tags', 'created_at', 'updated_at', 'n', 'value', "'=cmd()"])
    expect(row).to.deep.equal([id, "'=Soup", 'sea; food/hot', body.created_at, body.updated_at, '99', '', 'x'])
    expect(others).to.deep.equal([])
    expect(await read({ where: 'nowhere:*' })).to.deep.equal([header])
  })

  it('tell a field, a property of its name, a path and a name with a dot apart', async () => {
    const id = await addNode({ title: 'T', properties: { id: 'own', 'a.b': 1, a: { b: 2 } } })
    const [header, row] = await read({ columns: 'id,.id,a.b,"a.b"', where: `id:${id}` })
    expect(header).to.deep.equal(['id', '.id', 'a.b', '"a.b"'])
    expect(row).to.deep.equal([id, 'own', '2', '1'])
  })

  it('take at most 64 columns by default', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Wide' }).then(expecting(201))).body
    const properties = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`p${n}`, n]))
    await ann.post(`/orgs/${id}/nodes`, { title: 'Wide', properties }).then(expecting(201))
    const [header = []] = await read({}, id)
    expect([header.length, header.at(-1)]).to.deep.equal([64, [...Object.keys(properties)].sort()[58]])
  })

  it('have the columns that are named', async () => {
    const properties = { title: 'own', type: 'Recipe', 'in work': 1, 'a.b': 'name', a: { b: 'path' }, n: 'columns' }
    const id = await addNode({ title: 'Named', properties })
    const columns =
      'tags,.title,title,type,"in work",a.b,"a.b",a.c.d,nowhere,__proto__,.toString,id,created,updated_at,tag'
    const [header, row = []] = await read({ columns, where: 'n:columns' })
    expect(header?.slice(0, 11)).to.deep.equal([
      'tags',
      '.title',
      'title',
      'type',
      'in work',
      'a.b',
      '"a.b"',
      'a.c.d',
      'nowhere',
      '__proto__',
      'toString',
    ])
    expect(header?.slice(11)).to.deep.equal(['id', 'created_at', 'updated_at', 'tags'])
    expect(row.slice(0, 12)).to.deep.equal(['', 'own', 'Named', 'Recipe', '1', 'path', 'name', '', '', '', '', id])
    for (const [wrong, at] of [
      ['title,,tags', 6],
      ['parent', 0],
      ['title,->cites', 6],
      ['title tags', 5],
    ] as const) {
      const { body } = await ask({ columns: wrong }).then(expecting(422))
      expect(body.detail[0], wrong).to.deep.include({ loc: ['query', 'columns'], type: 'filter_syntax', ctx: { at } })
    }
    const { body } = await ask({ columns: Array(65).fill('title').join() }).then(expecting(422))
    expect(body.detail[0].type).to.equal('filter_too_large')
  })

  it('are chosen by the header or by the address, and have a safe name', async () => {
    const type = async (query: Readonly<Record<string, string>>, accept: string) =>
      (await ann.get(addressOf(query), { accept }).then(expecting(200))).headers['content-type']?.split(';')[0]
    expect(await type({}, '*/*')).to.equal('application/json')
    expect(await type({}, 'text/html, text/csv;q=0.5')).to.equal('text/csv')
    expect(await type({ format: 'csv' }, 'text/html, */*')).to.equal('text/csv')
    expect(await type({ format: 'json' }, 'text/csv')).to.equal('application/json')
    const { headers } = await ask({ where: 'title:Named', limit: '1', offset: '9' }).then(expecting(200))
    expect(headers['content-disposition']).to.match(
      /^attachment; filename="[\w-]+\.csv"; filename\*=UTF-8''[\w%-]+\.csv$/,
    )
    expect(headers['cache-control']).to.equal('private, no-cache')
    const head = await fetch(`${grove.url}${addressOf({ format: 'csv' })}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${ann.session.accessToken}` },
    })
    expect([head.status, head.headers.get('content-type')]).to.deep.equal([
      200,
      'text/csv; charset=utf-8; header=present',
    ])
    for (const other of ['order', 'tag', 'parent_id']) {
      const { body } = await ask({ [other]: other === 'order' ? 'changed' : org }).then(expecting(422))
      expect(body.detail[0].loc).to.deep.equal(['query', other])
    }
    const { body } = await ask({ where: 'a:b )' }).then(expecting(422))
    expect(body.detail[0]).to.deep.include({ loc: ['query', 'where'], ctx: { at: 4 } })
  })

  it('are for members, and for anyone who may read the list', async () => {
    const [stranger, bob] = [client(grove), await signUp(grove, 'Bob')]
    const csv = { accept: 'text/csv' }
    await stranger.get(addressOf({}), csv).then(expecting(401))
    await bob.get(addressOf({}), csv).then(expecting(404))
    await ann.patch(`/orgs/${org}`, { published: true }).then(expecting(200))
    const all = (await ask().then(expecting(200))).body
    for (const reader of [stranger, bob])
      expect((await reader.get(addressOf({}), csv).then(expecting(200))).body).to.equal(all)
    await ann.patch(`/orgs/${org}`, { published: false }).then(expecting(200))
    await stranger.get(addressOf({}), csv).then(expecting(401))
  })

  it('have properties that are too long for lists', async () => {
    const long = 'ä'.repeat(40_000)
    const node = await newNode(grove, ann)
    const json = JSON.stringify({ title: 'Long', properties: { long } })
    node.git.point('main', node.git.commit({ files: { 'node.json': json }, parents: [node.git.head()] }))
    await ann.get(node.at).then(expecting(200))
    const { nodes } = (await ann.get(addressOf({ where: 'long:*' }, ann.org)).then(expecting(200))).body
    expect(nodes[0].properties_omitted).to.equal(true)
    expect(await read({ columns: 'title,long', where: 'long:*' }, ann.org)).to.deep.equal([
      ['title', 'long'],
      ['Long', long],
    ])
  })

  describe('of many', () => {
    let large: string

    before(async () => {
      large = (await ann.post('/orgs', { name: 'Large' }).then(expecting(201))).body.id
      await ann.patch(`/orgs/${large}`, { published: true }).then(expecting(200))
      const filler = 'grove '.repeat(1_300)
      for (let from = 0; from < many; from += 1_000) {
        const nodes = Array.from({ length: 1_000 }, (_, at) => {
          const n = from + at
          return { title: `N${n}`, properties: { n, half: n % 2, mixed: (n * 7_919) % many, filler } }
        })
        await ann.post(`/orgs/${large}/nodes/batch`, { nodes }).then(expecting(201))
      }
    })

    /** Takes nothing of the body yet. */
    const open = async (
      headers: Headers = { authorization: `Bearer ${ann.session.accessToken}` },
    ): Promise<IncomingMessage> => {
      const request = get(`${grove.url}${addressOf({ format: 'csv' }, large)}`, { headers })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      expect(response.statusCode).to.equal(200)
      return response
    }

    it.deep('are all that match, in their order', async () => {
      const [header, ...rows] = await read({ columns: 'n,title,mixed', where: 'half:1', sort: '-mixed' }, large)
      expect(header).to.deep.equal(['n', 'title', 'mixed'])
      const expected = Array.from({ length: many }, (_, n) => ({ n, mixed: (n * 7_919) % many }))
        .filter(({ n }) => n % 2 === 1)
        .sort((a, b) => b.mixed - a.mixed)
      expect(rows).to.deep.equal(expected.map(({ n, mixed }) => [`${n}`, `N${n}`, `${mixed}`]))
    })

    it.deep('are sent one table at a time; the next one has its turn when a client goes away', async () => {
      const first = await open()
      let answered = false
      const second = open().then((response) => {
        answered = true
        return response
      })
      expect((await ann.get(`/orgs/${large}`)).status).to.equal(200)
      expect(answered).to.equal(false)
      first.destroy()
      expect(readCsv((await buffer(await second)).toString())).to.have.length(many + 1)
    })

    it.deep('end early for a reader who may no longer read them', async () => {
      const response = await open({})
      await ann.patch(`/orgs/${large}`, { published: false }).then(expecting(200))
      let received = ''
      const ended = await (async () => {
        for await (const chunk of response) received += chunk
      })().then(
        () => 'whole',
        (error: NodeJS.ErrnoException) => error.code,
      )
      expect(ended).to.equal('ECONNRESET')
      expect(received.split('\r\n').length).to.be.within(2, many)
    })
  })
})
