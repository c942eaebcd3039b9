/** The draft proposal of several pages to which a visitor adds pages, without script. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, ledTo, mainOf, type Visit, visitOf } from './forms.ts'

const words = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Why the editor's form was refused. */
const problemIn = (answer: Answer) => /data-problem[^>]*>([^<]*)</.exec(mainOf(answer))?.[1]

const partOf = (answer: Answer, id: string) =>
  new RegExp(`<section id="${id}"[\\s\\S]*?</section>`).exec(mainOf(answer))?.[0] ?? ''

describe('the draft proposal of a visitor', () => {
  const { grove, ann, cy } = useWorld({ ann: 'owner', cy: 'contributor' })
  const visits = new Map<PersonClient, Visit>()

  before(async () => {
    for (const person of [ann, cy]) visits.set(person, await visitOf(grove, person))
  })

  const visit = (person: PersonClient) => visits.get(person) as Visit // `before` has made it

  it('is in reach of all pages of the organisation', async () => {
    const body = { title: 'The sea', is_draft: true, nodes: [{ title: 'Krill' }] }
    const { body: opened } = await cy.post(`/orgs/${ann.org}/change-sets`, body).then(expecting(201))
    const at = `${pageAt(ann.org)}/proposals/${opened.change_set.number}`
    const barsOf = (person: PersonClient) =>
      Promise.all(
        [`${pageAt(ann.org)}/proposals`, `${pageAt(ann.org)}/tags`, at].map(
          async (path) => /<aside class="notice basket".*?<\/aside>/s.exec((await visit(person).open(path)).body)?.[0],
        ),
      )
    const [first = '', ...others] = await barsOf(cy)
    expect(words(first)).to.equal('Draft proposal: The sea · 1 page Review and submit')
    expect(first).to.include(`/proposals/${opened.change_set.number}"`)
    expect(others).to.deep.equal([first, undefined])
    expect(await barsOf(ann)).to.deep.equal([undefined, undefined, undefined])
    const { body: org } = await cy.get(`/orgs/${ann.org}`).then(expecting(200))
    expect(org.draft_change_sets).to.deep.equal([{ number: opened.change_set.number, title: 'The sea', num_items: 1 }])
    expect(ledTo(await visit(cy).send(at, { act: 'ready' }))[0]).to.equal(303)
    expect(await barsOf(cy)).to.deep.equal([undefined, undefined, undefined])
  })

  const setsOf = async (query = '') =>
    (await ann.get(`/orgs/${ann.org}/change-sets${query}`).then(expecting(200))).body.change_sets
  const itemsOf = async (number: number) =>
    (await ann.get(`/orgs/${ann.org}/change-sets/${number}`).then(expecting(200))).body.change_set.items
  const aPage = async (title: string, fields: object = {}): Promise<string> =>
    (await ann.post(`/orgs/${ann.org}/nodes`, { title, text_content: `${title}.\n`, ...fields }).then(expecting(201)))
      .body.id
  const headOf = async (id: string) => (await ann.get(`/orgs/${ann.org}/nodes/${id}`)).body.head as string
  const pageOf = (id: string) => pageAt(ann.org, id)
  /** The number and the anchor of the proposal that a form has led to. */
  const ledToSet = (answer: Answer) => {
    const [, number = '', anchor] = /\/proposals\/(\d+)(?:#page-(.*))?$/.exec(ledTo(answer)[1] ?? '') ?? []
    expect([answer.status, number !== '', alertIn(answer)]).to.deep.equal([303, true, undefined])
    return { number: Number(number), anchor }
  }
  const buttonsIn = (answer: Answer) =>
    [...mainOf(answer).matchAll(/<button[^>]*name="act"[^>]*value="([^"]+)"/g)].map(([, act]) => act)
  const choicesIn = (answer: Answer) =>
    [
      ...(/<select name="into"[^>]*>.*?<\/select>/s.exec(mainOf(answer))?.[0].matchAll(/<option[^>]*>([^<]*)/g) ?? []),
    ].map(([, says]) => says)
  const newFields = (title: string, fields: object = {}) => ({
    ...{ id: randomUUID(), parent: '', from: '', named: '', title, text: `${title} swim.\n`, message: '' },
    ...{ act: 'create-proposal', ...fields },
  })

  it('takes a new page of a contributor, a change and a deletion', async () => {
    const [whales, old] = [await aPage('Whales'), await aPage('Old whales')]
    const { open, send } = visit(cy)
    const at = `${pageAt(ann.org)}/new`
    const form = await open(at)
    expect(buttonsIn(form)).to.deep.equal(['create-proposal'])
    expect(mainOf(form)).to.include('You propose a new page here, and an editor merges it.')
    expect(choicesIn(form)).to.deep.equal(['As its own proposal', 'Add to a new one'])
    const fields = newFields('Seals', { into: 'new', into_title: 'Sea mammals' })
    const { number, anchor } = ledToSet(await send(at, fields))
    expect(anchor).to.equal(fields.id)
    expect(ledToSet(await send(at, fields)).number, 'sent twice').to.equal(number)
    expect((await setsOf())[0]).to.include({ number, title: 'Sea mammals', is_draft: true, num_items: 1 })
    const into = `${number}`
    const edit = await open(`${pageOf(whales)}/edit`)
    expect(choicesIn(edit)).to.include('Add to: “Sea mammals” (1 page)')
    expect(mainOf(edit)).to.include(`<option value="${number}" selected`)
    const change = { head: await headOf(whales), title: 'Whales', text: 'Whales dive.\n', message: '', into }
    expect(ledToSet(await send(`${pageOf(whales)}/edit`, { ...change, act: 'propose' }))).to.deep.equal({
      number,
      anchor: whales,
    })
    const settings = await open(`${pageOf(old)}/settings`)
    expect(buttonsIn(settings)).to.include('propose-deletion').and.not.include('delete')
    const sent = { act: 'propose-deletion', head: await headOf(old), into }
    expect(ledToSet(await send(`${pageOf(old)}/settings`, sent)).number).to.equal(number)
    const seals = newFields('Pups', { into })
    for (const _ of ['once', 'twice']) expect(ledToSet(await send(at, seals)).anchor).to.equal(seals.id)
    expect((await itemsOf(number)).map(({ act, title }: Answer['body']) => [act, title])).to.deep.equal([
      ['delete', 'Old whales'],
      ['create', 'Pups'],
      ['create', 'Seals'],
      ['change', 'Whales'],
    ])
    const again = await send(`${pageOf(whales)}/edit`, { ...change, act: 'propose', text: 'Whales sing.\n' })
    expect([again.status, problemIn(again)]).to.deep.equal([
      409,
      `“Whales” is in proposal ${number} (“Sea mammals”) already, and a page is in one at a time.`,
    ])
    expect(mainOf(again)).to.include(`/proposals/${number}">proposal #${number}</a> of several pages`)
    const before = mainOf(await visit(ann).open(`${pageOf(whales)}/edit`))
    expect(before).to.include(`/proposals/${number}">proposal #${number}</a> of several pages`)
  })

  it('takes tags, and leaves alone what is proposed alone', async () => {
    const seals = await aPage('Seals')
    const { number } = ledToSet(
      await visit(cy).send(`${pageAt(ann.org)}/new`, newFields('Orcas', { into: 'new', into_title: '' })),
    )
    expect((await setsOf())[0]).to.include({ number, title: 'Create Orcas', is_draft: true })
    const tags = { act: 'tags', head: await headOf(seals), tag: 'sea', into: `${number}` }
    expect(ledToSet(await visit(cy).send(`${pageOf(seals)}/settings`, tags))).to.deep.equal({ number, anchor: seals })
    const rays = newFields('Rays')
    const alone = ledToSet(await visit(cy).send(`${pageAt(ann.org)}/new`, rays)).number
    expect((await setsOf())[0]).to.include({ number: alone, title: 'Create Rays', is_draft: false, num_items: 1 })
    const own = await visit(cy).send(`${pageOf(seals)}/edit`, {
      ...{ head: await headOf(seals), title: 'Seals', text: 'Seals dive.\n', message: '', act: 'propose', into: '' },
    })
    expect(ledTo(own)[1]).to.equal(`${pageOf(seals)}/proposals/2`)
  })

  it('is the way where a rule guards pages, in words of pages', async () => {
    const handbook = await aPage('Handbook')
    const dogs = await aPage('Dogs', { parents: [handbook] })
    const rule = { branches: ['main'], under: handbook, approvals: 1 }
    await ann.patch(`/orgs/${ann.org}`, { rules: [rule] }).then(expecting(200))
    try {
      const { open, send } = visit(ann)
      const at = `${pageAt(ann.org)}/new`
      expect(buttonsIn(await open(at))).to.deep.equal(['create', 'create-proposal'])
      expect(buttonsIn(await open(`${at}?parent=${handbook}`))).to.deep.equal(['create-proposal'])
      const fields = newFields('Cats', { parent: handbook })
      const refused = await send(at, { ...fields, act: 'create' })
      expect([refused.status, problemIn(refused)]).to.deep.equal([
        409,
        'Pages below “Handbook” are created by a proposal here.',
      ])
      expect(ledToSet(await send(at, fields)).anchor).to.equal(fields.id)
      const deleted = await send(`${pageOf(dogs)}/settings`, { act: 'delete', head: await headOf(dogs) })
      expect(deleted.status).to.equal(409)
      expect(words(partOf(deleted, 'delete'))).to.include('“Dogs” can only be deleted by a proposal.')
      expect(buttonsIn(deleted)).to.include('propose-deletion').and.not.include('delete')
    } finally {
      await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
    }
  })
})
