/** Search by meaning on pages, without scripts: the choice of owners, and how the search page shows it. */

import { expect } from 'chai'
import type { Config } from '../../server/base/config.ts'
import { made } from '../support/cast.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { addMeaning, modelElsewhere } from '../support/meant.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ledTo, mainOf, type Visit, visitOf } from './forms.ts'

type Embeddings = NonNullable<Config['embeddings']>

const wordsOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

describe('search by meaning', () => {
  let grove: Grove
  let ann: PersonClient
  let visit: Visit
  let reader: Visit
  let settings: string

  const start = async (embeddings?: Embeddings) => {
    grove = await startGrove(embeddings ? { embeddings } : {})
    ann = await signUp(grove, 'Ann')
    const bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'maintainer' }))
    visit = await visitOf(grove, ann)
    reader = await visitOf(grove, bob)
    settings = `${pageAt(ann.org)}/settings/general`
  }
  afterEach(() => grove.close())

  const { endpoint } = modelElsewhere
  const model = (more: Partial<Embeddings> = {}): Embeddings => ({ ...modelElsewhere, ...more })
  const sectionOf = async (visitor = visit) =>
    /<section aria-labelledby="meaning">[\s\S]*?<\/section>/.exec(mainOf(await visitor.open(settings)))?.[0] ?? ''
  const chosenIn = (html: string) => /value="(\w+)" selected/.exec(html)?.[1]
  const choiceOf = async () => (await made(ann.get(`/orgs/${ann.org}`))).embeddings

  describe('in the settings of an organisation', () => {
    it('is the choice of owners: to allow it, to refuse it, or neither', async () => {
      await start(model())
      expect(chosenIn(await sectionOf())).to.equal('default')
      for (const [embeddings, choice] of [
        ['allow', true],
        ['refuse', false],
        ['default', undefined],
      ] as const) {
        const answer = await visit.send(settings, { act: 'embeddings', embeddings })
        expect(ledTo(answer)).to.deep.equal([303, `${settings}?saved=embeddings`])
        expect([await choiceOf(), chosenIn(await sectionOf())]).to.deep.equal([choice, embeddings])
      }
      for (const fields of [{ embeddings: 'yes' }, { embeddings: 'toString' }])
        expect((await visit.send(settings, { act: 'embeddings', ...fields })).status).to.equal(422)
      expect(await choiceOf()).to.equal(undefined)
    })

    it('is not shown to others, who cannot choose', async () => {
      await start(model())
      expect(await sectionOf(reader)).to.equal('')
      expect((await reader.send(settings, { act: 'embeddings', embeddings: 'allow' })).status).to.equal(403)
      expect(await choiceOf()).to.equal(undefined)
    })

    it('says which model it uses, and that texts are sent to its provider', async () => {
      await start(model())
      const said = wordsOf(await sectionOf())
      expect(said).to.include('bge-m3').and.include('the texts of all pages are sent to the provider of this model')
      expect(said).to.include('As the service is configured (not allowed)')
      expect(said).to.not.include('The operator has not enabled it')
    })

    it('says of a model on the same machine that no text leaves it', async () => {
      await start(model({ endpoint: { ...endpoint, url: 'http://127.0.0.1:9/v1', model: '<b>local' }, orgs: 'all' }))
      const section = await sectionOf()
      expect(section).to.include('&lt;b>local')
      const said = wordsOf(section)
      expect(said).to.include('Texts and questions do not leave the machine of this service.')
      expect(said).to.include('As the service is configured (allowed)').and.not.include('are sent')
    })

    it('says if the operator has not enabled it for this organisation', async () => {
      await start(model({ orgs: [] }))
      expect(wordsOf(await sectionOf())).to.include('The operator has not enabled it for this organisation.')
    })

    it('says that the service has no model, and lets owners take back a choice', async () => {
      await start()
      expect(wordsOf(await sectionOf())).to.equal(
        'Search by meaning This service has no model for it. Searches find pages by their words.',
      )
      await made(ann.patch(`/orgs/${ann.org}`, { embeddings: true }))
      expect(chosenIn(await sectionOf())).to.equal('allow')
      await visit.send(settings, { act: 'embeddings', embeddings: 'default' })
      expect(await choiceOf()).to.equal(undefined)
    })
  })

  describe('on the search page', () => {
    const used = { state: 'used' } as const
    const find = async (q: string) => {
      const html = mainOf(await visit.open(`${pageAt(ann.org)}/find?${new URLSearchParams({ q })}`))
      return { html, said: wordsOf(/<p class="why said">[\s\S]*?(?=<ul|<\/div>|$)/.exec(html)?.[0] ?? '') }
    }
    beforeEach(async () => {
      await start(model())
      for (const title of ['Whales', 'Ships'])
        await made(ann.post(`/orgs/${ann.org}/nodes`, { title, text_content: `${title} and dolphins.` }))
    })

    it.deep('marks a match that has no word of the query', async () => {
      addMeaning(grove, used, ['Whales'], ['Ships'])
      const { html } = await find('dolphins')
      const [whales, ships] = ['Whales', 'Ships'].map((title) =>
        [...html.matchAll(/<li>[\s\S]*?<\/li>/g)].map(([item]) => item).find((item) => item.includes(`>${title}<`)),
      )
      expect(whales).to.include('no words in common').and.not.include('<mark>')
      expect(ships).to.include('<mark>dolphins</mark>').and.not.include('in common')
    })

    const isLate = 'Search by meaning is not available now'
    const isBehind = 'Search by meaning is being prepared: 29 % of pages.'
    for (const [state, covered, says, without] of [
      ['unavailable', 1, `${isLate}; these are the matches by words.`, `${isLate}.`],
      ['catching_up', 0.299, isBehind, isBehind],
    ] as const)
      it.deep(`has one line if its state is ${state}`, async () => {
        addMeaning(grove, { state, covered })
        expect((await find('dolphins')).said).to.include(`2 pages ${says}`)
        expect((await find('zzzz')).said).to.include(`No results for “zzzz”. ${without}`)
      })

    it.deep('has no line in any other state', async () => {
      const { html: plain } = await find('dolphins')
      for (const state of ['used', 'not_needed', 'off', 'language'] as const) {
        const end = addMeaning(grove, { state })
        expect((await find('dolphins').finally(end)).html, state).to.equal(plain)
      }
    })
  })
})
