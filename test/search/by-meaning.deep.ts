/** Search by meaning over HTTP: when it is used, and which texts and questions leave the service. */

import { expect } from 'chai'
import type { Config } from '../../server/base/config.ts'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type EmbeddingsEndpoint, sendJson, startEmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

/** Words that mean the same. Each group is one dimension of the vectors. */
const groups = [
  ['holiday', 'vacation', 'leave'],
  ['salary', 'wages', 'payroll'],
  ['laptop', 'computer', 'machine'],
  ['whale', 'leviathan', 'cetacean'],
]

/** A vector with a value for each group, and one for the rest. */
function meaningOf(text: string): number[] {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu))
  const counts = groups.map((group) => group.filter((word) => words.has(word)).length)
  return [...counts, counts.some((count) => count > 0) ? 0 : 1, ...Array<number>(11).fill(0)]
}

/** One page of each group, and more that say something else. */
const pages: [title: string, text: string][] = [
  ['Time off', 'You book your leave with the team, two weeks before.'],
  ['Money', 'The payroll runs at the end of each month.'],
  ['Desk', 'Every new colleague gets a machine on the first morning.'],
  ['Sea', 'A cetacean breathes air.'],
  ...['Bread', 'Bicycles', 'Gardens', 'Clocks', 'Rivers', 'Bridges', 'Songs', 'Stamps'].map(
    (title): [string, string] => [title, `A page about ${title.toLowerCase()} and nothing else.`],
  ),
]

type EmbeddingsConfig = NonNullable<Config['embeddings']>

function configOf({ url }: { readonly url: string }, more: Partial<EmbeddingsConfig> = {}): EmbeddingsConfig {
  return {
    endpoint: { url, model: 'groups', textPrefix: '', queryPrefix: '', rate: 10_000, isHttpAllowed: true, allow: [] },
    orgs: 'all',
    isPublic: false,
    ...more,
  }
}

async function fill(owner: PersonClient, org = owner.org): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (const [title, text_content] of pages)
    ids.set(title, (await made(owner.post(`/orgs/${org}/nodes`, { title, text_content }))).id)
  return ids
}

const search = (caller: Client, org: string, query: string, more: object = {}) =>
  made(caller.post(`/orgs/${org}/search/retrieve`, { query, expansion_depth: 'none', ...more }))

const untilCovered = (caller: Client, org: string) =>
  until(async () => (await search(caller, org, 'bicycles')).meaning.covered === 1)

describe('search by meaning', () => {
  let endpoint: EmbeddingsEndpoint
  let grove: Grove
  let ann: PersonClient
  let ids: Map<string, string>

  const start = async (config: EmbeddingsConfig, dataDir?: string) => {
    grove = await startGrove({ embeddings: config, logLevel: 'fatal', ...(dataDir === undefined ? {} : { dataDir }) })
  }
  const useMeaning = () => {
    endpoint.behaviour = ({ body }, _res, answer) =>
      answer((usual) => ({
        ...usual,
        data: body.input.map((text, index) => ({ object: 'embedding', index, embedding: meaningOf(text) })),
      }))
  }
  const sentSince = (count: number) => endpoint.texts().slice(count)

  beforeEach(async () => {
    endpoint = await startEmbeddingsEndpoint()
    useMeaning()
  })
  afterEach(async () => {
    await grove.close()
    await endpoint.close()
  })

  describe('of an organisation that allows it', () => {
    beforeEach(async () => {
      await start(configOf(endpoint))
      ann = await signUp(grove, 'Ann')
      ids = await fill(ann)
      await untilCovered(ann, ann.org)
    })

    it('finds a page that says the same in other words', async () => {
      const found = await search(ann, ann.org, 'vacation', { explain: true })
      expect(found.meaning).to.deep.equal({ state: 'used', model: 'groups', covered: 1 })
      expect(found).to.not.have.property('hint')
      const [first, ...others] = found.matches
      expect([first.node_id, first.matched_terms, first.meaning]).to.deep.equal([
        ids.get('Time off'),
        [],
        { similarity: 1 },
      ])
      expect([others, found.total, found.total_is_exact]).to.deep.equal([[], 1, true])
      const { meaning } = first.explanation
      expect(meaning.unsure).to.deep.equal({ share: 0, title: 0, found: 0, name: false })
      expect([meaning.similarity, meaning.score]).to.deep.equal([1, first.score])
    })

    it('is not used if words suffice: the answer is that by words, and nothing is sent', async () => {
      const before = endpoint.texts().length
      for (const query of ['payroll', 'new colleague morning', '"breathes air"', 'title:desk']) {
        const { meaning, ...found } = await search(ann, ann.org, query, { explain: true })
        const { meaning: off, ...byWords } = await search(ann, ann.org, query, { explain: true, mode: 'lexical' })
        expect([meaning.state, off], query).to.deep.equal(['not_needed', { state: 'off', model: 'groups' }])
        expect(found, query).to.deep.equal(byWords)
      }
      await search(ann, ann.org, 'vacation', { mode: 'lexical' })
      expect(sentSince(before)).to.deep.equal([])
    })

    it('sends a question once, without its filters', async () => {
      const before = endpoint.texts().length
      for (const query of ['vacation', 'vacation -tag:old', 'vacation']) await search(ann, ann.org, query)
      expect(sentSince(before)).to.deep.equal(['vacation'])
    })

    it('respects filters, scopes and pages', async () => {
      const names = async (query: string, more: object = {}) =>
        (await search(ann, ann.org, query, more)).matches.map((match: { title: string }) => match.title)
      expect(await names('vacation title:money')).to.deep.equal([])
      const others = [...ids].filter(([title]) => title !== 'Time off').map(([, id]) => id)
      expect(await names('vacation', { scope: { node_ids: others } })).to.deep.equal([])
      expect(await names('vacation', { offset: 1 })).to.deep.equal([])
    })

    it('is a seed of the expansion', async () => {
      const to = ids.get('Bread')
      await made(ann.post(`/orgs/${ann.org}/nodes/${ids.get('Time off')}/connections`, { target: to }))
      const { nodes } = await search(ann, ann.org, 'vacation', { expansion_depth: 'deep' })
      expect(nodes.map(({ id }: { id: string }) => id)).to.include(to)
    })

    it('searches a branch and a time by their texts, and sends nothing for them', async () => {
      const at = `/orgs/${ann.org}/nodes/${ids.get('Time off')}`
      const earlier = new Date().toISOString()
      // Commits have whole seconds.
      await until(() => Date.now() > Date.parse(earlier) + 1_000)
      await made(ann.patch(at, { text_content: 'Nothing is left here.' }))
      await grove.settled()
      expect((await search(ann, ann.org, 'vacation')).matches).to.deep.equal([])
      const before = endpoint.texts().length
      const past = await search(ann, ann.org, 'holiday', { scope: { at: earlier } })
      expect(past.matches.map((match: { node_id: string }) => match.node_id)).to.deep.equal([ids.get('Time off')])
      expect(sentSince(before)).to.deep.equal(['holiday'])
    })

    it('answers by words while the endpoint fails, and says so', async () => {
      const { meaning: _, ...byWords } = await search(ann, ann.org, 'wages', { mode: 'lexical' })
      for (const [query, behaviour] of [
        ['wages', (_request, res) => sendJson(res, 500, { error: 'broken' })],
        ['wages', (_request, res) => void res.socket?.destroy()],
        ['wages', () => {}],
        ['wages', (_request, res) => sendJson(res, 200, { data: [] })],
      ] as [string, EmbeddingsEndpoint['behaviour']][]) {
        endpoint.behaviour = behaviour
        const { meaning, ...found } = await search(ann, ann.org, query)
        expect(meaning.state).to.equal('unavailable')
        expect(found).to.deep.equal(byWords)
      }
    })

    it('ends with the refusal of an owner, whose answer comes after the vectors are erased', async () => {
      const count = async () =>
        (
          await Promise.all(
            (['node', 'passage', 'position'] as const).map((table) =>
              grove.deps.embeddings?.vectors.read.selectFrom(table).selectAll().where('org_id', '=', ann.org).execute(),
            ),
          )
        ).map((rows) => rows?.length)
      expect((await count()).map(Boolean)).to.deep.equal([true, true, true])
      await made(ann.patch(`/orgs/${ann.org}`, { embeddings: false }))
      expect(await count()).to.deep.equal([0, 0, 0])
      const found = await search(ann, ann.org, 'vacation')
      expect([found.matches, found.meaning]).to.deep.equal([[], { state: 'off', model: 'groups' }])
      await made(ann.patch(`/orgs/${ann.org}`, { embeddings: null }))
      await untilCovered(ann, ann.org)
      expect((await search(ann, ann.org, 'vacation')).matches).to.have.length(1)
    })

    it('embeds only changed texts, also after a restart', async () => {
      const { dataDir } = grove
      const before = endpoint.texts().length
      await made(ann.patch(`/orgs/${ann.org}/nodes/${ids.get('Money')}`, { text_content: 'Wages come on Fridays.' }))
      await until(() => endpoint.texts().length > before)
      await untilCovered(ann, ann.org)
      expect(sentSince(before)).to.deep.equal(['Money\nWages come on Fridays.'])
      const again = await startGrove({ embeddings: configOf(endpoint), logLevel: 'fatal', dataDir })
      try {
        const known = client(again, ann.session.accessToken)
        await untilCovered(known, ann.org)
        expect((await search(known, ann.org, 'vacation')).matches).to.have.length(1)
        expect(sentSince(before)).to.deep.equal(['Money\nWages come on Fridays.', 'vacation'])
      } finally {
        await again.close()
      }
    })
  })

  it('trusts the stored dimensions after a restart, not those of the first answer', async () => {
    const dataDir = await newDataDir()
    await start(configOf(endpoint), dataDir)
    ann = await signUp(grove, 'Ann')
    ids = await fill(ann)
    await untilCovered(ann, ann.org)
    await grove.close()
    await start(configOf(endpoint), dataDir)
    const again = client(grove, ann.session.accessToken)
    await untilCovered(again, ann.org)
    endpoint.behaviour = (_request, _res, answer) =>
      answer(({ data }) => ({ data: data.map((one) => ({ ...one, embedding: [1, 2, 3, 4] })) }))
    expect((await search(again, ann.org, 'vacation')).meaning.state).to.equal('unavailable')
    useMeaning()
    for (const query of ['vacation', 'holiday'])
      expect((await search(again, ann.org, query)).meaning.state, query).to.equal('used')
    const at = `/orgs/${ann.org}/nodes/${ids.get('Money')}`
    await made(again.patch(at, { text_content: 'Wages come on Fridays.' }))
    await grove.settled()
    expect(endpoint.texts()).to.include('Money\nWages come on Fridays.')
    expect((await search(again, ann.org, 'salary')).matches).to.have.length(1)
  })

  it('sends nothing of organisations that did not ask, and no question in them', async () => {
    await start(configOf(endpoint, { orgs: 'asked' }))
    ann = await signUp(grove, 'Ann')
    const bob = await signUp(grove, 'Bob')
    for (const owner of [ann, bob]) ids = await fill(owner)
    await made(bob.post(`/orgs/${bob.org}/nodes`, { title: 'Secret', text_content: 'The whale of Bob.' }))
    await made(ann.patch(`/orgs/${ann.org}`, { embeddings: true }))
    await grove.settled()
    const found = await search(bob, bob.org, 'leviathan')
    expect([found.matches, found.meaning.state]).to.deep.equal([[], 'off'])
    expect(endpoint.texts().filter((text) => /Bob|leviathan/.test(text))).to.deep.equal([])
    expect(endpoint.texts().filter((text) => text.startsWith('Time off'))).to.have.length(1)
  })

  it('sends questions of strangers to an endpoint on this machine', async () => {
    await start(configOf(endpoint))
    ann = await signUp(grove, 'Ann')
    await fill(ann)
    await made(ann.patch(`/orgs/${ann.org}`, { published: true }))
    await untilCovered(ann, ann.org)
    const before = endpoint.texts().length
    const bob = await signUp(grove, 'Bob')
    for (const stranger of [client(grove), bob])
      expect((await search(stranger, ann.org, 'vacation')).meaning.state).to.equal('used')
    expect(sentSince(before)).to.deep.equal(['vacation'])
  })

  it('is off for strangers if the endpoint is elsewhere, unless the operator allows it', async () => {
    for (const isPublic of [false, true]) {
      // Nothing answers there, so no page has a vector.
      await start(configOf({ ...endpoint, url: 'https://models.invalid/v1' }, { isPublic }))
      ann = await signUp(grove, 'Ann')
      await fill(ann)
      await made(ann.patch(`/orgs/${ann.org}`, { published: true }))
      const bob = await signUp(grove, 'Bob')
      const states = [ann, bob, client(grove)].map(
        async (caller) => (await search(caller, ann.org, 'vacation')).meaning.state,
      )
      const ofStrangers = isPublic ? 'catching_up' : 'off'
      expect(await Promise.all(states)).to.deep.equal(['catching_up', ofStrangers, ofStrangers])
      if (!isPublic) await grove.close()
    }
  })

  it('says that it is being prepared until half of the pages have vectors', async () => {
    endpoint.behaviour = (_request, res) => sendJson(res, 503, {})
    await start(configOf(endpoint))
    ann = await signUp(grove, 'Ann')
    await fill(ann)
    const { meaning, matches } = await search(ann, ann.org, 'vacation')
    expect([meaning, matches]).to.deep.equal([{ state: 'catching_up', model: 'groups', covered: 0 }, []])
  })

  it('keeps to the languages of the model', async () => {
    const config = configOf(endpoint)
    await start({ ...config, endpoint: { ...config.endpoint, languages: ['en'] } as EmbeddingsConfig['endpoint'] & {} })
    ann = await signUp(grove, 'Ann')
    await fill(ann)
    await untilCovered(ann, ann.org)
    for (const query of ['διακοπές', 'Wie lange darf ich eigentlich im Sommer verreisen?'])
      expect((await search(ann, ann.org, query)).meaning.state, query).to.equal('language')
    expect((await search(ann, ann.org, 'vacation')).meaning.state).to.equal('used')
  })

  it('is absent from a service without a model, which refuses `hybrid`', async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    await fill(ann)
    const plain = await search(ann, ann.org, 'vacation')
    expect(plain).to.not.have.property('meaning')
    expect(await search(ann, ann.org, 'vacation', { mode: 'lexical' })).to.deep.equal(plain)
    const refused = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'vacation', mode: 'hybrid' })
    expect([refused.status, refused.body.detail[0].type, refused.body.detail[0].loc]).to.deep.equal([
      422,
      'embeddings_off',
      ['body', 'mode'],
    ])
  })
})
