/** Levels of the tree: their order, pages, cursors and filter, against an oracle that sorts titles with ICU. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { titleKey } from '../../index/derived/title-order.ts'
import { grove as command } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'

interface Shown {
  readonly id: string
  readonly title: string
}

/** Titles of few letters and digits, so that many are alike. */
const titleArbitrary = fc
  .array(fc.constantFrom('a', 'A', 'b', 'B', '1', '2', '10', '0', ' ', '-', '_'), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(''))
  .filter((title) => title.trim() !== '')

describe('levels of the tree', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  before(async () => {
    ann = await signUp(grove, 'Ann')
  })
  beforeEach(async () => {
    ann = await emptyOrg()
  })

  const emptyOrg = async (): Promise<PersonClient> => {
    const { body } = await ann.post('/orgs', { name: 'Levels' }).then(expecting(201))
    return { ...ann, org: body.id }
  }
  const at = () => `/orgs/${ann.org}`
  const level = async (query: Record<string, string | number> = {}): Promise<Answer['body']> => {
    const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
    return (await ann.get(`${at()}/tree?${parameters}`).then(expecting(200))).body
  }
  const titlesOf = ({ nodes }: { nodes: readonly Shown[] }) => nodes.map(({ title }) => title)
  /** Creates nodes together and returns the id of each. */
  const add = async (titles: readonly string[], parents: readonly string[] = []): Promise<string[]> => {
    const nodes = titles.map((title) => ({ id: randomUUID(), title, parents }))
    for (let from = 0; from < nodes.length; from += 100)
      await ann.post(`${at()}/nodes/batch`, { nodes: nodes.slice(from, from + 100) }).then(expecting(201))
    return nodes.map(({ id }) => id)
  }
  /** The order of ICU, then of code points, then of ids. */
  const { compare: naturally } = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })
  const inOrder = (one: Shown, other: Shown) =>
    naturally(one.title, other.title) ||
    (one.title < other.title ? -1 : one.title > other.title ? 1 : one.id < other.id ? -1 : 1)

  it.deep('have every node that whatever changes leave there, in order, also in a rebuilt index', async () => {
    const change = fc.record({
      kind: fc.constantFrom('rename', 'rename', 'put', 'put', 'put', 'remove', 'delete', 'create'),
      node: fc.nat(9),
      parent: fc.nat(9),
      title: titleArbitrary,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 10, maxLength: 40, size: 'max' }), async (changes) => {
        ann = await emptyOrg()
        const titles = new Map<string, string>()
        const parents = new Map<string, Set<string>>()
        const ids = await add(Array.from({ length: 10 }, () => 'Node'))
        for (const id of ids) {
          titles.set(id, 'Node')
          parents.set(id, new Set())
        }
        for (const { kind, node, parent, title } of changes) {
          const [child = '', above = ''] = [ids[node], ids[parent]]
          if (kind === 'create') {
            // Its children are known before it: as when an index is rebuilt, in any order.
            const [id = ''] = await add([title], titles.has(above) ? [above] : [])
            ids.push(id)
            titles.set(id, title)
            parents.set(id, new Set(titles.has(above) ? [above] : []))
          } else if (!titles.has(child)) continue
          else if (kind === 'rename') {
            await ann.patch(`${at()}/nodes/${child}`, { title }).then(expecting(200))
            titles.set(child, title)
          } else if (kind === 'delete') {
            await ann.delete(`${at()}/nodes/${child}`).then(expecting(204))
            titles.delete(child)
            parents.delete(child)
          } else {
            const path = `${at()}/nodes/${child}/parents/${above}`
            const { status } = await (kind === 'put' ? ann.put(path) : ann.delete(path))
            if (status === 200) parents.get(child)?.add(above)
            if (status === 204) parents.get(child)?.delete(above)
          }
        }
        const shown = async () => {
          const all: Record<string, readonly Shown[]> = {}
          for (const under of ['', ...titles.keys()]) {
            const { nodes } = await level({ limit: 200, ...(under && { under }) })
            all[under] = nodes.map(({ id, title }: Shown) => ({ id, title }))
          }
          return all
        }
        const expected = Object.fromEntries(
          ['', ...titles.keys()].map((under) => {
            const nodes = [...titles].flatMap(([id, title]) => {
              const living = [...(parents.get(id) ?? [])].filter((parent) => titles.has(parent))
              return (under === '' ? living.length === 0 : living.includes(under)) ? [{ id, title }] : []
            })
            return [under, nodes.sort(inOrder)]
          }),
        )
        expect(await shown()).to.deep.equal(expected)
        expect((await command(grove.dataDir, 'reindex')).code).to.equal(0)
        expect(await shown()).to.deep.equal(expected)
      }),
      { numRuns: runs(6) },
    )
  })

  it.deep('are read from cursor to cursor without gaps and repetitions, while nodes are added', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(titleArbitrary, { minLength: 8, maxLength: 20 }),
        fc.array(titleArbitrary, { minLength: 5, maxLength: 5 }),
        fc.integer({ min: 1, max: 7 }),
        fc.boolean(),
        async (titles, later, limit, isBelow) => {
          ann = await emptyOrg()
          const under = isBelow ? ((await add(['Parent']))[0] ?? '') : undefined
          const parents = under === undefined ? [] : [under]
          const query = { limit, ...(under !== undefined && { under }) }
          const before = await add(titles, parents)
          const read: Shown[] = []
          let next: string | undefined
          do {
            const page = await level({ ...query, ...(next !== undefined && { after: next }) })
            expect(page.nodes).to.have.length.of.at.most(limit)
            const { nodes } = await level({ ...query, limit: 200 })
            expect(page.nodes).to.deep.equal(nodes.slice(page.offset, page.offset + limit))
            read.push(...page.nodes)
            next = page.next
            const title = later.pop()
            if (title !== undefined) await add([title], parents)
          } while (next !== undefined)
          expect(read.toSorted(inOrder)).to.deep.equal(read)
          const ids = read.map(({ id }) => id)
          expect(new Set(ids).size).to.equal(ids.length)
          expect(ids).to.include.members(before)
        },
      ),
      { numRuns: runs(8) },
    )
  })

  it('are also read by the Link to the next page, and continue after a node that is gone', async () => {
    await add(['Chapter 1', 'Chapter 2', 'Chapter 10', 'chapter 3'])
    const first = await ann.get(`${at()}/tree?limit=2`).then(expecting(200))
    expect(titlesOf(first.body)).to.deep.equal(['Chapter 1', 'Chapter 2'])
    await ann.delete(`${at()}/nodes/${first.body.nodes[1].id}`).then(expecting(204))
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(first.headers.link ?? '') ?? []
    const second = await ann.get(next).then(expecting(200))
    expect([titlesOf(second.body), second.body.offset, second.headers.link]).to.deep.equal([
      ['chapter 3', 'Chapter 10'],
      1,
      undefined,
    ])
  })

  it('show the nodes around one of them, and fill the last page', async () => {
    const ids = await add(Array.from({ length: 9 }, (_, n) => `Page ${n + 1}`))
    const around = async (n: number) => {
      const { nodes, offset, total } = await level({ around: ids[n - 1] ?? '', limit: 3 })
      return [offset, total, ...nodes.map(({ title }: Shown) => Number(title.slice(5)))]
    }
    expect(await around(1)).to.deep.equal([0, 9, 1, 2, 3])
    expect(await around(5)).to.deep.equal([3, 9, 4, 5, 6])
    expect(await around(9)).to.deep.equal([6, 9, 7, 8, 9])
    expect(titlesOf(await level({ around: ids[4]?.toUpperCase() ?? '', limit: 1 }))).to.deep.equal(['Page 5'])
    const [below = ''] = await add(['Below'], [ids[0] ?? ''])
    for (const id of [below, randomUUID(), 'nonsense'])
      expect((await ann.get(`${at()}/tree?around=${id}`)).body.code, id).to.equal('node_not_found')
    expect(await level({ under: ids[0] ?? '', around: below })).to.deep.include({ offset: 0, total: 1 })
  })

  it('are filtered by the beginnings of words, page by page', async () => {
    await add(['Blue whale', 'Whale song', 'Écluse 10', 'narwhal', 'C++ notes', '海の鯨', 'Whale, blue and grey'])
    const found = async (q: string) => titlesOf(await level({ q }))
    expect(await found('WHAL')).to.deep.equal(['Blue whale', 'Whale song', 'Whale, blue and grey'].sort())
    expect(await found('bl wh')).to.have.members(['Blue whale', 'Whale, blue and grey'])
    expect(await found('ecl 1')).to.deep.equal(['Écluse 10'])
    expect(await found('c++')).to.deep.equal(['C++ notes'])
    expect(await found('++')).to.deep.equal(['C++ notes'])
    expect(await found('鯨')).to.deep.equal(['海の鯨'])
    expect(await found('hale')).to.deep.equal([])
    expect((await level({ q: ' ' })).total).to.equal(7)
    const first = await level({ q: 'whale', limit: 2 })
    expect(first).to.deep.include({ total: 3, offset: 0 })
    const second = await level({ q: 'whale', limit: 2, after: first.next })
    expect([titlesOf(second), second.offset, second.next]).to.deep.equal([
      titlesOf(await level({ q: 'whale', offset: 2 })),
      2,
      undefined,
    ])
  })

  it('refuse parameters that exclude each other, and a damaged cursor', async () => {
    const [id = ''] = await add(['Page'])
    for (const query of [
      `around=${id}&q=a`,
      `around=${id}&offset=1`,
      `around=${id}&after=abcd`,
      'after=abcd&offset=1',
      'after=abcd',
      'after=!',
      `q=${'x'.repeat(201)}`,
    ])
      expect((await ann.get(`${at()}/tree?${query}`)).status, query).to.equal(422)
  })

  it.deep('lead to a node along each first parent, from the top', async () => {
    const path = async (id: string, reader: Client = ann) =>
      (await reader.get(`${at()}/nodes/${id}/path`).then(expecting(200))).body
    const [top = '', b = ''] = await add(['Top', 'B'])
    const [a = ''] = await add(['a'], [top])
    const [child = ''] = await add(['Child'], [b, a])
    expect(await path(top)).to.deep.equal({ nodes: [], truncated: false })
    const nodes = [
      { id: top, title: 'Top' },
      { id: a, title: 'a' },
    ]
    expect(await path(child)).to.deep.equal({ nodes, truncated: false })
    const bound = { name: 'One node', access: 'read', org_id: ann.org, node_id: child }
    const { token } = (await ann.post('/auth/tokens', bound).then(expecting(201))).body
    expect(await path(child, client(grove, token))).to.deep.equal({ nodes: [], truncated: true })
    await ann.delete(`${at()}/nodes/${a}`).then(expecting(204))
    expect(await path(child)).to.deep.equal({ nodes: [{ id: b, title: 'B' }], truncated: false })
    let last = child
    for (let depth = 1; depth <= 33; depth++) [last = ''] = await add([`Depth ${depth}`], [last])
    const long = await path(last)
    expect([long.truncated, long.nodes.length, long.nodes[0].title, long.nodes.at(-1).title]).to.deep.equal([
      true,
      32,
      'Depth 1',
      'Depth 32',
    ])
  })

  it('have the children of a deleted node as roots, however many there are', async () => {
    const many = 1_203
    const [parent = '', other = ''] = await add(['Parent', 'Other'])
    await grove.deps.index.write(async (trx) => {
      const row = await trx.selectFrom('node').selectAll().where('id', '=', parent).executeTakeFirstOrThrow()
      for (let n = 0; n < many; n++) {
        const [id, title_key] = [randomUUID(), titleKey(`Child ${n}`)]
        await trx
          .insertInto('node')
          .values({ ...row, id, title: `Child ${n}`, title_key, is_root: 0 })
          .execute()
        const edge = { org_id: ann.org, holder: id, target: id, edge_type: 'parent_child' as const, title_key }
        for (const source of n === 7 ? [parent, other] : [parent])
          await trx
            .insertInto('edge')
            .values({ ...edge, key: source, source, connection_type: '', label: '' })
            .execute()
      }
    })
    expect(await level({ under: parent, limit: 1, offset: many - 1 })).to.deep.include({ total: many })
    expect(titlesOf(await level())).to.deep.equal(['Other', 'Parent'])
    await ann.delete(`${at()}/nodes/${parent}`).then(expecting(204))
    const roots = await level({ limit: 10 })
    expect([roots.total, titlesOf(roots).slice(6, 8)]).to.deep.equal([many, ['Child 6', 'Child 8']])
    expect(titlesOf(await level({ offset: many - 2 }))).to.deep.equal([`Child ${many - 1}`, 'Other'])
  })
})
