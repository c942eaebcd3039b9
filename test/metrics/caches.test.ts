/** Caches: what `/metrics` says of them, their bounds, and answers without them. */

import { expect } from 'chai'
import { type Bound, bounds, bytesOfBound, type CacheName, cacheNames } from '../../gitstore/caching/bounds.ts'
import { clearCaches, createCache, readCaches } from '../../gitstore/caching/caches.ts'
import { everythingIn } from '../support/everything.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { metricsToken, parseScrape, sumOf } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'

const useOf = (name: CacheName) => readCaches().find((one) => one.name === name) ?? { entries: -1, bytes: -1 }

describe('caches', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { metricsToken })

  it.deep('change no answer when they are empty', async () => {
    const parent = await ann.node({ title: 'Owls', text_content: 'An owl. [[Krill]]', tags: ['bird'] })
    await ann.node({ title: 'Krill', text_content: 'Food.', properties: { size: 6 }, parents: [parent.id] })
    await grove.settled()
    const read = () => everythingIn(grove, ann.session.accessToken, [ann.org], ['owl'])
    const filled = await read()
    clearCaches()
    expect(readCaches().filter(({ entries, bytes }) => entries + bytes > 0)).to.deep.equal([])
    expect(await read()).to.deep.equal(filled)
    expect(readCaches().filter(({ entries }) => entries > 0)).to.have.length.above(10)
  })

  it('are in the metrics, by name', async () => {
    await ann.node()
    const scrape = parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)
    for (const metric of ['grove_cache_bytes', 'grove_cache_entries']) {
      const shown = scrape.get(metric)?.map(({ labels }) => labels.cache)
      expect(shown, metric).to.deep.equal(cacheNames)
      expect(sumOf(scrape, metric, { cache: 'trees' }), metric).to.be.above(0)
    }
  })
})

describe('the bounds of caches', () => {
  before(clearCaches)
  after(clearCaches)

  it('hold for entries, and for their sizes', () => {
    const titles = createCache<readonly string[]>('former_titles')
    for (let n = 0; n < 1_500; n++) titles.set(`${n}`, [])
    expect(useOf('former_titles')).to.include({ entries: 1_000, bytes: 1_000_000 })
    expect([titles.has('499'), titles.has('500')]).to.deep.equal([false, true])
    const types = createCache<string>('org_types', { sizeCalculation: (text) => text.length })
    for (let n = 0; n < 20; n++) types.set(`${n}`, 'x'.repeat(1_048_576))
    expect(useOf('org_types')).to.include({ entries: 16, bytes: bytesOfBound(bounds.org_types) })
  })

  it('leave out what is too large', () => {
    const answers = createCache<string>('immutable_answers', { sizeCalculation: (text) => text.length })
    const { mostOfOne = 0 }: Bound = bounds.immutable_answers
    answers.set('fits', 'x'.repeat(mostOfOne))
    answers.set('larger', 'x'.repeat(mostOfOne + 1))
    expect([...answers.keys()]).to.deep.equal(['fits'])
  })

  it('are for each cache, and caches of one name share nothing', () => {
    const [one, other] = [createCache<number>('last_uses'), createCache<number>('last_uses')]
    one.set('a', 1)
    other.set('b', 2)
    expect([one.get('b'), other.get('a')]).to.deep.equal([undefined, undefined])
    expect(useOf('last_uses').entries).to.equal(2)
  })
})
