/** Conditions among the words of a search. */
import { expect } from 'chai'
import fc from 'fast-check'
import { readConditions } from '../../index/properties/box-conditions.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const today = '2026-12-01'

describe('the conditions of a search box', () => {
  const known = ['status', 'serves', 'due', 'author', 'std']
  const read = (query: string) => readConditions(query, today, (name) => known.includes(name))

  for (const [query, words, conditions] of [
    ['whales status:done', 'whales', ['status:done']],
    ['-status:done,dropped whales', 'whales', ['-status:done,dropped']],
    ['krill serves>=4 in the sea', 'krill in the sea', ['serves>=4']],
    ['status:"in progress" krill', 'krill', ['status:"in progress"']],
    ['due<today type:recipe', '', ['due<today', 'type:recipe']],
    ['author.name~ann', '', ['author.name~ann']],
    ['created:2026-12-01 -updated<2026-01-01', '', ['created:2026-12-01', '-updated<2026-01-01']],
    ['status:*', '', ['status:*']],
    ['.status:done', '', ['.status:done']],
  ] as const)
    it(`are ${conditions.join(' and ')} in ${query}`, () => {
      const parts = read(query)
      expect(parts.words).to.equal(words)
      expect(parts.conditions.map(({ text }) => text)).to.deep.equal(conditions)
      for (const { text, from, to } of parts.conditions) expect(query.slice(from, to)).to.equal(text)
    })

  for (const query of [
    'error: x',
    'status: done',
    'http://x',
    'std::map',
    'Genesis 1:3',
    'unknown:x',
    'created:yesterday',
    'created:2026',
    '"status:done"',
    'say "about status:done" here',
    'title:krill tag:sea -tag:land',
    'id:x parent:x under:x',
    '->author:x',
    '(status:done OR serves:4)',
    'status:done)',
    'status:done,',
    '-"status":done',
    'C++ - -- : :: status:',
    '"',
    'status:"open',
  ])
    it(`are not in ${query}`, () => {
      const words = query === 'std::map' ? readConditions(query, today, () => false) : read(query)
      expect(words).to.deep.equal({ words: query, conditions: [] })
    })

  it('never throw, and leave the rest as it is', () => {
    const part = fc.constantFrom('status:', 'done', '"', '-', ' ', ',', '(', ')', '.', '>=', '*', 'x', '->', 'ß', '\n')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const query = parts.join('')
        const { words, conditions } = read(query)
        let rest = query
        for (const { from, to } of conditions.toReversed()) rest = `${rest.slice(0, from)} ${rest.slice(to)}`
        expect(words.replaceAll(/\s+/g, ' ').trim()).to.equal(rest.replaceAll(/\s+/g, ' ').trim())
      }),
      { numRuns: 2_000 },
    )
  })

  it('are at most 32', () => {
    const { conditions, words } = read(Array.from({ length: 40 }, (_, n) => `serves:${n}`).join(' '))
    expect(conditions).to.have.length(32)
    expect(words.split(/\s+/)).to.have.length(8)
  })
})

describe('a search with conditions', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let at: string
  const ids = new Map<string, string>()

  before(async () => {
    at = `/orgs/${ann.org}`
    await ann.patch(at, { published: true }).then(expecting(200))
    for (const [title, properties, text_content] of [
      ['Blue whale', { status: 'done', type: 'animal', length: 30 }, 'Whales eat krill.'],
      ['Grey whale', { status: 'open', type: 'animal', length: 14 }, 'Whales travel far.'],
      ['Krill', { status: 'done', type: 'food' }, 'Small, and food of whales.'],
      ['Note', {}, 'About whales, error: none, status:done.'],
    ] as const) {
      const { body } = await ann.post(`${at}/nodes`, { title, properties, text_content }).then(expecting(201))
      ids.set(title, body.id)
    }
    await ann
      .post(`${at}/nodes/${ids.get('Blue whale')}/connections`, { target: ids.get('Krill'), type: 'eats' })
      .then(({ status }) => expect(status).to.be.below(300))
  })

  const search = async (query: string, more: object = {}, who: Pick<PersonClient, 'post'> = ann) => {
    const { body } = await who.post(`${at}/search/retrieve`, { query, top_k: 10, ...more }).then(expecting(200))
    return { ...body, titles: body.matches.map(({ title }: { title: string }) => title).sort() }
  }

  it('finds words within them, and says what was read as a condition', async () => {
    const { titles, conditions, total } = await search('whales status:done -type:food')
    expect(titles).to.deep.equal(['Blue whale'])
    expect(total).to.equal(1)
    expect(conditions).to.deep.equal([
      { text: 'status:done', from: 7, to: 18 },
      { text: '-type:food', from: 19, to: 29 },
    ])
  })

  it('lists what they match if it has no words', async () => {
    expect((await search('status:DONE')).titles).to.deep.equal(['Blue whale', 'Krill'])
    expect((await search('length>=20')).titles).to.deep.equal(['Blue whale'])
    expect((await search('-status:*')).titles).to.deep.equal(['Note'])
  })

  it('reads names that no node has as words', async () => {
    const answer = await search('error: none')
    expect(answer.titles).to.deep.equal(['Note'])
    expect(answer).not.to.have.property('conditions')
    expect((await search('"status:done"')).titles).to.deep.equal(['Note'])
  })

  it('knows a name from the next search after a node has it', async () => {
    expect((await search('habitat:sea')).conditions).to.equal(undefined)
    await ann.patch(`${at}/nodes/${ids.get('Note')}`, { properties: { habitat: 'Sea' } }).then(expecting(200))
    expect((await search('habitat:sea')).titles).to.deep.equal(['Note'])
    await ann.patch(`${at}/nodes/${ids.get('Note')}`, { properties: {} }).then(expecting(200))
    expect((await search('habitat:sea')).conditions).to.equal(undefined)
  })

  it('reaches other nodes from its matches, but not out of the scope', async () => {
    const related = async (query: string, scope?: object) => {
      const { nodes } = await search(query, { expansion_depth: 'deep', ...(scope && { scope }) })
      return nodes.map(({ title }: { title: string }) => title).sort()
    }
    expect(await related('blue type:animal length>20')).to.deep.equal(['Blue whale', 'Krill'])
    expect(await related('blue', { where: 'type:animal' })).not.to.include('Krill')
  })

  it('names what no node has in the filter of its scope, and the likely meaning', async () => {
    const answer = await search('whales', { scope: { where: { property: 'statsu', op: 'eq', value: 'done' } } })
    expect(answer).to.deep.include({ total: 0, hint: 'scope_is_empty', unknown: { statsu: 'status' } })
  })

  it('is refused with a place where the filter of its scope is wrong', async () => {
    const { status, body } = await ann.post(`${at}/search/retrieve`, { query: 'x', scope: { where: 'status' } })
    expect(status).to.equal(422)
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'scope', 'where'], type: 'filter_syntax', ctx: { at: 0 } })
    const other = { query: 'x', scope: { where: { all: [{ property: 'a', op: 'near', value: 1 }] } } }
    expect((await ann.post(`${at}/search/retrieve`, other)).body.detail[0].loc).to.deep.equal([
      ...['body', 'scope', 'where', 'all', 0, 'op'],
    ])
  })

  it('answers anyone once the organisation is published', async () => {
    expect((await search('whales status:open', {}, client(grove))).titles).to.deep.equal(['Grey whale'])
  })
})
