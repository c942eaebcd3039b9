/** Queries over HTTP, against the plain form: on main after random edits, on a branch, and at a time. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Filter, Subject } from '../../index/properties/filter.ts'
import { expecting, newNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'
import { filtersWith, nodesWith, sorts, subjects } from './arbitraries.ts'
import { facet, matches, type PlainNode, type PlainSort, sorted } from './naive.ts'

const count = 24

describe('queries of nodes', () => {
  let at: string
  let now = Date.parse('2026-11-30T23:59:50Z')
  let plain: PlainNode[]

  const { grove, ann } = useWorld({ ann: 'owner' }, { now: () => new Date(++now) })
  before(async () => {
    at = `/orgs/${ann.org}`
    await ann.patch(at, { published: true }).then(expecting(200))
    const ids: string[] = []
    const contents = fc.sample(nodesWith(['0', '1']), { numRuns: runs(count), seed: 7 }).map(fit)
    for (const { title, tags, properties } of contents) {
      now += 1_000
      const { body } = await ann.post(`${at}/nodes`, { title, tags, properties }).then(expecting(201))
      ids.push(body.id)
    }
    const [root = '', child = '', other = ''] = ids
    for (const [parent, id] of [
      [root, child],
      [child, other],
    ] as const)
      await ann.put(`${at}/nodes/${id}/parents/${parent}`, {}).then(({ status }) => expect(status).to.be.below(300))
    for (const [id, type, target] of [
      [root, 'cites', other],
      [other, 'needs', root],
      [child, 'cites', root],
    ] as const)
      await ann
        .post(`${at}/nodes/${id}/connections`, { target, type })
        .then(({ status, body }) => expect(status, JSON.stringify(body)).to.be.below(300))
    await readPlain()
  })

  /** Titles must not be blank, and properties must be stored as they are. */
  function fit({ title, ...node }: Omit<PlainNode, 'id'>): Omit<PlainNode, 'id'> {
    const clean = title.replaceAll(/[\p{C}\p{Z}]/gu, '').slice(0, 400)
    return { ...node, title: clean === '' ? 'Empty' : clean }
  }

  /** Reads the nodes one by one, as the plain form needs them. */
  async function readPlain(): Promise<void> {
    const { nodes } = (await ann.get(`${at}/nodes?limit=200`).then(expecting(200))).body
    plain = []
    for (const { id } of nodes) {
      const { body } = await ann.get(`${at}/nodes/${id}`).then(expecting(200))
      const connections = body.connections
        .filter(({ source }: { source: string }) => source === id)
        .map(({ target, type }: { target: string; type: string }) => ({ target, type }))
      const parents = body.parents.map((parent: { id: string }) => parent.id)
      plain.push({ ...body, parents, connections })
    }
  }

  const idsOf = (nodes: readonly { readonly id: string }[]) => nodes.map(({ id }) => id)
  const sortText = (sort: readonly PlainSort[]) =>
    sort
      .map(({ by, desc }) => {
        const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
        const name = 'field' in by ? by.field : [by.property].flat().map(quoted).join('.')
        return `${desc ? '-' : ''}${name}`
      })
      .join(',')

  async function expectSame(filter: Filter, sort: readonly PlainSort[], subject: Subject, where = {}): Promise<void> {
    const keys = sortText(sort)
    const { status, body } = await ann.post(`${at}/nodes/query`, {
      ...where,
      ...{ where: filter, ...(keys !== '' && { sort: keys }) },
      ...('field' in subject && !['type', 'tag'].includes(subject.field)
        ? {}
        : { facets: [{ ...subject, limit: 100 }] }),
      ...{ offset: 2, limit: 5 },
    })
    expect(status, JSON.stringify({ filter, keys, body })).to.equal(200)
    const matching = plain.filter((node) => matches(filter, node, plain))
    expect(body.total).to.equal(matching.length)
    expect(idsOf(body.nodes)).to.deep.equal(idsOf(sorted(matching, sort)).slice(2, 7))
    await expectSameSearch(filter, idsOf(matching), where)
    if (body.facets === undefined) return
    const expected = facet(matching, subject as PlainSort['by'])
    expect(body.facets[0].missing).to.equal(expected.missing)
    expect(
      new Map(body.facets[0].values.map((one: { value: unknown; count: number }) => [one.value, one.count])),
    ).to.deep.equal(expected.counts)
  }

  /** Searches every node within a filter. */
  async function expectSameSearch(filter: Filter, ids: readonly string[], where: object): Promise<void> {
    const question = { query: '*', top_k: 50, scope: { ...where, where: filter } }
    const { status, body } = await ann.post(`${at}/search/retrieve`, question)
    expect(status, JSON.stringify({ filter, body })).to.equal(200)
    expect(body.total).to.equal(ids.length)
    const found: { node_id: string }[] = body.matches
    expect(found.map(({ node_id }) => node_id).sort()).to.deep.equal([...ids].sort())
    expect(body.hint).to.equal(ids.length === 0 ? 'scope_is_empty' : undefined)
  }

  const levelsOf = (filter: Filter): number => {
    const within =
      'all' in filter ? filter.all : 'any' in filter ? filter.any : 'not' in filter ? [filter.not] : undefined
    return within === undefined ? 0 : 1 + Math.max(0, ...within.map(levelsOf))
  }
  const asked = () =>
    fc.tuple(
      filtersWith(idsOf(plain)).filter((filter) => levelsOf(filter) <= 4),
      sorts.map((keys) => keys.map(([by, desc]) => ({ by, desc }) as PlainSort)),
      subjects,
    )

  it.deep('answer as the plain form, on main', async () => {
    for (const [filter, sort, subject] of fc.sample(asked(), 60)) await expectSame(filter, sort, subject)
  })

  it.deep('follow each change at once', async () => {
    for (const [n, content] of fc
      .sample(nodesWith(['0', '1']), 8)
      .map(fit)
      .entries()) {
      const { id } = plain[n % plain.length] ?? { id: '' }
      if (n % 4 === 3) await ann.delete(`${at}/nodes/${id}`).then(expecting(204))
      else {
        const { title, tags, properties } = content
        await ann.patch(`${at}/nodes/${id}`, { title, tags, properties }).then(expecting(200))
      }
      await readPlain()
      for (const [filter, sort, subject] of fc.sample(asked(), 6)) await expectSame(filter, sort, subject)
    }
  })

  it.deep('read a branch, and a time, for members only', async () => {
    await readPlain()
    now += 2_000
    const time = new Date(now).toISOString()
    now += 2_000
    const node = plain[0] ?? expect.fail()
    const path = `${at}/nodes/${node.id}`
    await ann.post(`${path}/branches`, { name: 'draft', from: 'main' }).then(expecting(201))
    const properties = { status: 'on the branch' }
    const changes = [
      { action: 'put', path: 'node.json', content: JSON.stringify({ title: 'Drafted', tags: ['sea'], properties }) },
    ]
    await ann.post(`${path}/tree/draft/commits`, { message: 'Draft', changes }).then(expecting(201))
    const main = plain
    plain = plain.map((one) => (one.id === node.id ? { ...one, title: 'Drafted', tags: ['sea'], properties } : one))
    const withoutTimes = asked().filter(([filter, sort]) => !JSON.stringify([filter, sort]).includes('updated_at'))
    for (const [filter, sort, subject] of fc.sample(withoutTimes, 30))
      await expectSame(filter, sort, subject, { branch: 'draft' })
    const where = 'status:"on the branch"'
    const drafted = (await ann.post(`${at}/nodes/query`, { where, branch: 'draft' }).then(expecting(200))).body
    expect(drafted.nodes[0]).to.deep.include({ id: node.id, title: 'Drafted', tags: ['sea'], properties })
    plain = main
    for (const [filter, sort, subject] of fc.sample(asked(), 5)) await expectSame(filter, sort, subject)

    await ann.patch(path, { properties: { status: 'later' } }).then(expecting(200))
    await newNode(grove, ann, { title: 'Later' })
    for (const [filter, sort, subject] of fc.sample(asked(), 30)) await expectSame(filter, sort, subject, { at: time })
    const stranger = client(grove)
    await stranger.post(`${at}/nodes/query`, { where }).then(expecting(200))
    await stranger.post(`${at}/nodes/query`, { where, branch: 'draft' }).then(expecting(401))
    await ann.post(`${at}/nodes/query`, { branch: 'draft', at: time }).then(expecting(422))
    expect(
      (await ann.post(`${at}/nodes/query`, { branch: 'nowhere' }).then(expecting(422))).body.detail[0].loc,
    ).to.deep.equal(['body', 'branch'])
  })

  it('know the properties of a branch', async () => {
    const node = await newNode(grove, ann, { title: 'Otter' })
    await node.branch('sketch')
    await node.commit('sketch', { 'node.json': JSON.stringify({ title: 'Otter', properties: { furry: 4 } }) })
    const { body } = await ann.post(`${at}/nodes/query`, { where: 'furry:4', branch: 'sketch' })
    expect([body.total, body.unknown]).to.deep.equal([1, undefined])
    const found = (await ann.post(`${at}/search/retrieve`, { query: 'furry:4', scope: { branch: 'sketch' } })).body
    expect([found.total, found.conditions?.length]).to.deep.equal([1, 1])
    expect((await ann.post(`${at}/nodes/query`, { where: 'furry:4' })).body.unknown).to.have.property('furry')
    await ann.delete(`${at}/nodes/${node.id}`).then(({ status }) => expect(status).to.equal(204))
  })

  it('take ids in either case, and refuse what looks like another sign', async () => {
    const [{ id } = { id: '' }] = plain.filter(({ parents }) => parents.length > 0)
    const parent = plain.find((node) => node.id === id)?.parents[0] ?? ''
    for (const where of [`parent:${parent.toUpperCase()}`, { field: 'under', op: 'eq', value: parent.toUpperCase() }])
      expect((await ann.post(`${at}/nodes/query`, { where })).body.total, JSON.stringify(where)).to.be.above(0)
    for (const where of ['serves:>=4', 'serves==4', 'serves<>4', 'serves!:4', 'serves=~4']) {
      const { status, body } = await ann.post(`${at}/nodes/query`, { where })
      expect([status, body.detail?.[0]?.type], where).to.deep.equal([422, 'filter_syntax'])
    }
    expect((await ann.post(`${at}/nodes/query`, { where: 'serves:">4"' })).status).to.equal(200)
  })

  it('name the limits of the form that was sent', async () => {
    const long = 'x'.repeat(2_001)
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const [where, msg] of [
      ['', 'String should have at least 1 character'],
      [long, 'String should have at most 2000 characters'],
      [{ property: names, op: 'eq', value: 1 }, 'List should have at most 4 items'],
    ] as const)
      expect((await ann.post(`${at}/nodes/query`, { where })).body.detail[0].msg).to.equal(msg)
  })

  it('have values of facets without a mark of what was cut', async () => {
    const { id } = (
      await ann.post(`${at}/nodes`, { title: 'Long', properties: { cut: 'x'.repeat(3_000) } }).then(expecting(201))
    ).body
    const { facets } = (await ann.post(`${at}/nodes/query`, { facets: [{ property: 'cut' }] })).body
    expect(facets[0].values).to.deep.equal([{ value: `${'x'.repeat(1_000)}…`, count: 1 }])
    await ann.delete(`${at}/nodes/${id}`).then(({ status }) => expect(status).to.equal(204))
  })

  it('are the same in the text form of a list', async () => {
    await readPlain()
    const node = await newNode(grove, ann, {
      title: 'Soup',
      properties: { serves: 4, due: '2026-12-01', type: 'Recipe' },
    })
    const list = async (where: string, more = '') =>
      (await ann.get(`${at}/nodes?where=${encodeURIComponent(where)}${more}`).then(expecting(200))).body
    for (const where of [
      'type:recipe title:soup',
      'title:soup serves>=4',
      'title:soup due<=2026-12-01',
      'title:so* -due:2026-12-02',
      `id:${node.id}`,
    ])
      expect(idsOf((await list(where)).nodes), where).to.deep.equal([node.id])
    expect((await list('title:soup serves<4')).total).to.equal(0)
    expect((await list('titel:soup', '&sort=-serves,title')).unknown).to.have.property('titel')
    const { body } = await ann.get(`${at}/nodes?where=${encodeURIComponent('a:b )')}`).then(expecting(422))
    expect(body.detail[0]).to.deep.include({ loc: ['query', 'where'], type: 'filter_syntax', ctx: { at: 4 } })
    for (const other of ['order=changed', 'tag=sea', `parent_id=${node.id}`])
      await ann.get(`${at}/nodes?sort=title&${other}`).then(expecting(422))
  })

  it('list the conditions of a text, each of which can be cut out', async () => {
    const query = async (where: unknown) => (await ann.post(`${at}/nodes/query`, { where }).then(expecting(200))).body
    const terms = ['type:Recipe', '-"in work":"a ""b"" c",😀', '(a:1 OR -b:2)', '->cites:*', 'ß~é']
    const where = `  ${terms.join('\t ')} `
    const { conditions } = await query(where)
    expect(conditions.map(({ text }: { text: string }) => text)).to.deep.equal(terms)
    for (const { text, from, to } of conditions) {
      expect(where.slice(from, to)).to.equal(text)
      const left = (await query(where.slice(0, from) + where.slice(to))).conditions
      expect(left.map((one: { text: string }) => one.text)).to.deep.equal(terms.filter((term) => term !== text))
    }
    expect((await query(' a:1 OR  b:2 c:3 ')).conditions).to.deep.equal([{ text: 'a:1 OR  b:2 c:3', from: 1, to: 16 }])
    expect((await query(' ')).conditions).to.deep.equal([])
    expect(await query({ field: 'title', op: 'is', value: 'soup' })).to.not.have.property('conditions')
  })

  it('know the names of the properties, with the kinds of their values', async () => {
    const { properties, total } = (await ann.get(`${at}/properties?limit=200`).then(expecting(200))).body
    await readPlain()
    const names = new Set(
      plain.flatMap((node) =>
        Object.entries(node.properties)
          .filter(([, value]) => [value].flat(9).some((one) => one !== null))
          .map(([name]) => name),
      ),
    )
    expect(properties.map(({ name }: { name: string }) => name)).to.have.members([...names])
    expect(total).to.equal(names.size)
  })
})
