/** The page of the rules of an organisation, without scripts. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, plain as withoutWords } from '../support/pages.ts'
import { type Answer, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, mainOf, type Visit, visitOf } from './forms.ts'
import { fieldsIn } from './sent-forms.ts'

describe('the rules of an organisation', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
  let visit: Visit
  let org: string
  let whales: string
  let page: string

  before(async () => {
    visit = await visitOf(grove, ann)
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await made(ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' }))
    whales = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }))).id
    page = `${pageAt(org)}/settings/rules`
  })

  const rulesOf = async () => (await made(ann.get(`/orgs/${org}`))).rules
  const setRules = (rules: unknown) => made(ann.patch(`/orgs/${org}`, { rules }))
  const fields = {
    ...{ rule: 'new', act: 'save', branches: 'main', under: '', under_words: '', under_found: '', approvals: '1' },
    ...{
      role: 'editor',
      people: '',
      keep: 'same_change',
      checks: '',
      merge: 'editor',
      override: 'owner',
      pages: 'all',
    },
  }
  const plain = {
    ...{ branches: ['main'], approvals: 1, by: { role: 'editor' }, keep: 'same_change', checks: [] },
    ...{ resolved: false, merge: 'editor', override: 'owner', pages: 'all' },
  }
  const byEditors =
    'Every change of all pages needs 1 approval by anyone who may publish. Editors merge. Owners may override.'
  const textOf = (html: string) => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
  const unescaped = (html: string) => html.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
  /** The sentences of the list, without that of the general settings. */
  const sentencesIn = (html: string) =>
    [...(/<ul class="rows rules">[\s\S]*?<\/ul>/.exec(html)?.[0] ?? '').matchAll(/<li><div>([^<]*)/g)]
      .map(([, words]) => unescaped(words ?? ''))
      .slice(1)
  /** The values of the form that the page shows. */
  const formIn = (html: string) => {
    const form = /<section id="rule"[\s\S]*?<\/form>/.exec(html)?.[0] ?? ''
    const texts = [...form.matchAll(/<textarea[^>]*name="(\w+)"[^>]*>\n?([^<]*)</g)]
    const selects = [...form.matchAll(/<select[^>]*name="(\w+)"[^>]*>([\s\S]*?)<\/select>/g)].map(
      ([, name, options]) => [...['', name], /<option value(?:="(\w*)")? selected/.exec(options ?? '')?.[1] ?? ''],
    )
    const radios = [...form.matchAll(/<input type="radio" name="(\w+)" value(?:="([^"]*)")? checked/g)]
    return {
      ...Object.fromEntries([...texts, ...selects, ...radios].map(([, name, value = '']) => [name, value])),
      approvals: /name="approvals"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*name="approvals"/
        .exec(form)
        ?.slice(1)
        .join(''),
      resolved: /name="resolved"[^>]* checked/.test(form),
    }
  }
  const changeLink = (html: string) => /href="(\?rule=[0-9a-f]+)#rule"/.exec(html)?.[1] ?? ''
  const keyIn = (html: string) => changeLink(html).replace('?rule=', '')

  it('are added with everything that the form has, and shown as a sentence', async () => {
    const everything = {
      ...{ branches: ' main \r\nrelease/**\r\n', under: whales, approvals: '1', role: '', keep: 'same_commit' },
      ...{ people: `${bob.user.email}\r\n${ann.user.id.toUpperCase()}`, resolved: 'on', merge: 'owner' },
      ...{ checks: `links\r\nspell check: ${bob.user.email.toUpperCase()}`, override: 'nobody', pages: 'existing' },
    }
    const { status, headers } = await visit.send(page, { ...fields, ...everything })
    expect([status, headers.location]).to.deep.equal([303, `${page}?saved=save`])
    expect(await rulesOf()).to.deep.equal([
      {
        ...{
          branches: ['main', 'release/**'],
          under: whales,
          approvals: 1,
          by: { people: [bob.user.id, ann.user.id] },
        },
        ...{ keep: 'same_commit', checks: [{ name: 'links' }, { name: 'spell check', from: bob.user.id }] },
        ...{ resolved: true, merge: 'owner', override: 'nobody', pages: 'existing' },
      },
    ])
    const { body } = await visit.open(`${page}?saved=save`)
    expect(sentencesIn(body)).to.deep.equal([
      'Every change of “Whales” and the pages below it on main and release/** needs 1 approval by Bob or Ann, again for each new version, and the checks links and spell check (by Bob), and all threads resolved. Owners merge. Nobody may override. No proposal is needed to create or delete a page.',
    ])
    expect(body).to.contain('<p class="notice" role="status">Saved.</p>')
    expect(formIn((await visit.open(`${page}${changeLink(body)}`)).body)).to.deep.equal({
      ...{ branches: 'main\nrelease/**', under: whales, approvals: '1', role: '', keep: 'same_commit', resolved: true },
      ...{ people: `${bob.user.email}\n${ann.user.email}`, checks: `links\nspell check: ${bob.user.email}` },
      ...{ merge: 'owner', override: 'nobody', pages: 'existing' },
    })
  })

  it('are changed and removed one by one', async () => {
    await setRules([{ branches: ['next'] }, { ...plain, approvals: 2 }])
    const next = keyIn((await visit.open(page)).body)
    expect((await visit.send(page, { ...fields, rule: next, branches: 'later' })).status).to.equal(303)
    expect(await rulesOf()).to.deep.equal([
      { ...plain, branches: ['later'] },
      { ...plain, approvals: 2 },
    ])
    const later = keyIn((await visit.open(page)).body)
    for (const _ of ['once', 'twice'])
      expect((await visit.send(page, { act: 'remove', rule: later })).headers.location).to.equal(`${page}?saved=remove`)
    expect(await rulesOf()).to.deep.equal([{ ...plain, approvals: 2 }])
  })

  it('are added once if the form is sent twice', async () => {
    for (const _ of ['once', 'twice']) expect((await visit.send(page, fields)).status).to.equal(303)
    expect(await rulesOf()).to.deep.equal([plain])
  })

  it('are not overwritten if another owner changed the rule; the form then adds its own', async () => {
    await setRules([plain])
    const rule = keyIn((await visit.open(page)).body)
    await setRules([{ ...plain, approvals: 3 }])
    const mine = { ...fields, rule, approvals: '2' }
    const answer = await visit.send(page, mine)
    expect([answer.status, alertIn(answer)]).to.deep.equal([
      409,
      'This rule was changed or removed since you opened it. If you save again, yours is added as a new rule.',
    ])
    expect(formIn(answer.body)).to.include({ approvals: '2' })
    expect(answer.body).to.contain('<input type="hidden" name="rule" value="new"')
    expect(await rulesOf()).to.deep.equal([{ ...plain, approvals: 3 }])
  })

  describe('with a field that cannot be', () => {
    const cases: readonly [what: string, wrong: Readonly<Record<string, string>>, says: string][] = [
      [
        'an impossible pattern',
        { branches: 'main\r\na..b' },
        "“a..b”: No branch can match this: a branch name cannot contain '..'.",
      ],
      ['a pattern twice', { branches: 'main\r\nmain' }, '“main”: This pattern is in the rule twice.'],
      ['no pattern', { branches: ' \r\n ' }, 'Enter at least one branch.'],
      ['half an approval', { approvals: '1.5' }, 'Enter a whole number from 0 to 20.'],
      ['21 approvals', { approvals: '21' }, 'This must be 20 or less.'],
      [
        'a user who is not a member',
        { people: 'cleo@example.org' },
        '“cleo@example.org” is not the e-mail address of a member.',
      ],
      ['nobody', { role: '' }, 'Name a member, or choose above who else may approve.'],
      [
        'a check with a strange name',
        { checks: 'links\r\nspell?' },
        '“spell?”: The name should have 1 to 100 letters, digits, spaces and characters of ._/-.',
      ],
      [
        'a source that is not a member',
        { checks: 'links: cleo@example.org' },
        '“cleo@example.org” is not the e-mail address of a member.',
      ],
      ['a title without its page', { under_words: 'Whales' }, 'Choose the page from the list, or remove the title.'],
    ]
    for (const [what, wrong, says] of cases)
      it(`keep the input and name the field: ${what}`, async () => {
        const answer = await visit.send(page, { ...fields, resolved: 'on', keep: 'same_commit', ...wrong })
        expect([answer.status, alertIn(answer)?.replaceAll('&#39;', "'")]).to.deep.equal([422, says])
        const [name = ''] = Object.keys(wrong)
        const at = name === 'role' ? 'people' : name === 'under_words' ? 'under' : name
        expect(mainOf(answer)).to.match(new RegExp(`aria-invalid="true" aria-describedby="save-new-${at}-wrong"`))
        const { resolved, keep, ...shown } = formIn(answer.body) as Record<string, unknown>
        expect({ resolved, keep }).to.deep.equal({ resolved: true, keep: 'same_commit' })
        if (name !== 'under_words') expect(shown).to.include({ [name]: wrong[name]?.replaceAll('\r\n', '\n') })
        expect(await rulesOf()).to.deep.equal([])
      })
  })

  it('find a page by its title, and keep everything else', async () => {
    const whale = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whale song' }))).id
    const found = await visit.send(page, { ...fields, act: 'find', under_words: 'Whal', approvals: '7' })
    expect(found.status).to.equal(200)
    expect(formIn(found.body)).to.include({ approvals: '7' }).and.to.not.have.property('under')
    const choices = [...mainOf(found).matchAll(/type="radio" name="under" value(?:="([^"]*)")?/g)].map(
      ([, id = '']) => id,
    )
    expect(choices).to.have.members(['', whales, whale])
    const unchosen = { ...fields, under_words: 'Whal', under_found: 'Whal' }
    const { under: _, ...none } = unchosen
    expect(alertIn(await visit.send(page, none))).to.equal('Choose the page from the list, or remove the title.')
    expect((await visit.send(page, { ...unchosen, under: whale })).status).to.equal(303)
    expect(await rulesOf()).to.deep.equal([{ ...plain, under: whale }])
    const only = await visit.send(page, { ...fields, act: 'find', under_words: 'song' })
    expect(formIn(only.body)).to.include({ under: whale })
    const nothing = await visit.send(page, { ...fields, act: 'find', under_words: 'Krill' })
    expect(mainOf(nothing)).to.contain('No page has a title like “Krill”.')
  })

  it('stay with former members and deleted pages, and say so', async () => {
    await setRules([{ ...plain, under: whales, by: { people: [bob.user.id] }, pages: 'existing' }])
    await made(ann.delete(`/orgs/${org}/members/${bob.user.email}`))
    await made(ann.delete(`/orgs/${org}/nodes/${whales}`))
    const { body } = await visit.open(page)
    expect(sentencesIn(body)).to.deep.equal([
      'Every change of a deleted page needs 1 approval by a former member. Editors merge. Owners may override. No proposal is needed to create or delete a page.',
    ])
    expect(body).to.contain('The page was deleted, so this rule holds for nothing.')
    const form = formIn((await visit.open(`${page}${changeLink(body)}`)).body) as Record<string, string>
    expect(form).to.include({ people: bob.user.id, under: whales })
    const { resolved: _, ...kept } = form
    expect((await visit.send(page, { ...fields, ...kept, rule: keyIn(body), approvals: '0' })).status).to.equal(303)
    expect((await rulesOf())[0]).to.deep.include({ approvals: 0, under: whales, by: { people: [bob.user.id] } })
  })

  it('are read by members, and changed by owners', async () => {
    await setRules([plain])
    const reader = await visitOf(grove, bob)
    const { body } = await reader.open(`${page}?rule=new`)
    expect(sentencesIn(body)).to.deep.equal([byEditors])
    expect(body).to.contain('Only owners can change these rules. Your role: reader.')
    expect(mainOf(await reader.open(page))).to.not.match(/<form|Remove|Add a rule/)
    expect((await reader.send(page, fields)).status).to.equal(403)
    const cleo = await visitOf(grove, await signUp(grove, 'Cleo'))
    const before = await cleo.open(page)
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    expect([before.status, (await cleo.open(page)).status]).to.deep.equal([404, 403])
  })

  it.deep('say how many pages were created without a proposal, and leave new ones free by one click', async () => {
    const nodes = Array.from({ length: 210 }, (_, at) => ({ title: `Krill ${at}`, parents: [whales] }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Fox' }))
    const [inPart, everywhere] = [
      { ...plain, under: whales },
      { ...plain, branches: ['m*'] },
    ]
    await setRules([
      { ...plain, branches: ['next'] },
      inPart,
      everywhere,
      { ...plain, pages: 'existing', approvals: 2 },
    ])
    const counted = async () => [
      ...textOf(mainOf(await visit.open(page))).matchAll(/30 days, (\d+) pages were created here/g),
    ]
    expect((await counted()).map(([, count]) => count)).to.deep.equal(['211', '212'])
    const { body } = await visit.open(page)
    const [key = ''] = [
      ...body.matchAll(/name="rule" value="(\w+)"[^>]*>(?=(?:(?!<\/form>)[\s\S])*value="free")/g),
    ].map(([, rule]) => rule ?? '')
    expect((await visit.send(page, { act: 'free', rule: key })).status).to.equal(303)
    expect((await rulesOf())[1]).to.deep.equal({ ...inPart, pages: 'existing' })
    expect((await counted()).map(([, count]) => count)).to.deep.equal(['212'])
    expect(mainOf(await (await visitOf(grove, bob)).open(page))).to.not.include('30 days')
  })

  it('begin with the rule of the general settings, in its words, and lead there and back', async () => {
    const general = `${pageAt(org)}/settings/general`
    const question = 'May editors publish, or only propose?'
    const words = {
      false: 'Publish. Changes are published at once, unless another rule asks for a review.',
      true: 'Only propose. Every change of all pages needs a proposal. Maintainers merge.',
    }
    for (const value of ['true', 'false'] as const) {
      expect((await visit.send(general, { act: 'rules', require_pull_requests: value })).status).to.equal(303)
      expect((await made(ann.get(`/orgs/${org}`))).require_pull_requests).to.equal(value === 'true')
      const rules = mainOf(withoutWords(await visit.open(page)))
      expect(textOf(rules)).to.include(`Editors ${words[value].replace(/^./, (letter) => letter.toLowerCase())}`)
      expect(rules).to.include(`<a href="${general}">${question}</a>`).and.include('There are no other rules.')
      const settings = mainOf(withoutWords(await visit.open(general)))
      expect(textOf(settings)).to.include(question).and.include(words[value].replace('. ', ' '))
      expect(settings).to.match(new RegExp(`name="require_pull_requests" value="${value}" checked`))
      expect(settings).to.include('A new page is published at once, unless a rule is for it.')
      expect(rules).to.include('unless a rule is only for existing pages.')
      expect(settings).to.include(`href="${page}"`)
    }
    await setRules([plain])
    expect(sentencesIn((await visit.open(page)).body)).to.deep.equal([byEditors])
  })

  it('ask for one sentence, and fold all else unless it is not usual or wrong', async () => {
    const isOpen = (answer: Answer) => {
      const form = /<section id="rule"[\s\S]*?<\/form>/.exec(answer.body)?.[0] ?? ''
      const [, before = '', open, folded = ''] =
        /^([\s\S]*)<details class="more"( open)?>([\s\S]*)<\/details>/.exec(form) ?? []
      const [shown, more] = [before, folded].map((html) => [...new Set(fieldsIn(html).keys())])
      expect(shown).to.deep.equal(['rule', 'under', 'under_words', 'under_found', 'approvals', 'role', 'people'])
      // A box that is not checked sends nothing.
      expect(more).to.include.members(['branches', 'keep', 'checks', 'merge', 'override'])
      return open !== undefined
    }
    expect(isOpen(await visit.open(`${page}?rule=new`))).to.equal(false)
    await setRules([{ ...plain, approvals: 3, under: whales, by: { role: 'owner', people: [bob.user.id] } }])
    expect(isOpen(await visit.open(`${page}?rule=${keyIn((await visit.open(page)).body)}`))).to.equal(false)
    for (const more of [{ resolved: true }, { branches: ['main', 'next'] }]) {
      await setRules([{ ...plain, ...more }])
      expect(isOpen(await visit.open(`${page}?rule=${keyIn((await visit.open(page)).body)}`))).to.equal(true)
    }
    expect(isOpen(await visit.send(page, { ...fields, approvals: 'x' }))).to.equal(false)
    expect(isOpen(await visit.send(page, { ...fields, branches: 'main\r\na..b' }))).to.equal(true)
  })

  it('are at most 50', async () => {
    const rules = Array.from({ length: 50 }, (_, at) => ({ ...plain, branches: [`b${at}`] }))
    await setRules(rules)
    const answer = await visit.send(page, fields)
    expect([answer.status, alertIn(answer)]).to.deep.equal([422, 'List should have at most 50 items.'])
    expect(await rulesOf()).to.deep.equal(rules)
  })
})
