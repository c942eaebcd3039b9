/**
 * Two people who have nothing come to a merged proposal, in the browser alone. Counts their clicks, keys and pages. With
 * `PACE=human` they take their time, and the times of the steps are printed.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Locator } from 'playwright-core'
import { password } from '../support/people.ts'
import { expectSound, newVisitor, reached, useScene, type Visitor } from './scene.ts'

/** Milliseconds: of a key, to aim at something, to read a page, to send a link by another program. */
const pace = process.env.PACE === 'human' ? { key: 110, aim: 1_500, page: 3_500, send: 20_000 } : undefined

/** What a person does, counted. */
interface Person extends Visitor {
  readonly click: (target: Locator) => Promise<void>
  readonly type: (text: string) => Promise<void>
  readonly fill: (label: string, text: string) => Promise<void>
  readonly press: (name: string) => Promise<void>
  readonly follow: (name: string | RegExp) => Promise<void>
}

describe('two people who have nothing', () => {
  useScene()
  let dora: Person
  let emil: Person
  let invitation: string
  const spent = { clicks: 0, keys: 0, pages: 0 }
  let began: number

  async function newPerson(): Promise<Person> {
    const visitor = await newVisitor({ viewport: { width: 1440, height: 900 } })
    const { page } = visitor
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame() && frame.url() !== 'about:blank') spent.pages++
    })
    const click = async (target: Locator) => {
      await sleep(pace?.aim ?? 0)
      await target.click()
      spent.clicks++
      await page.waitForLoadState()
    }
    const type = async (text: string) => {
      await page.keyboard.type(text, { delay: pace?.key ?? 0 })
      spent.keys += text.length
    }
    return {
      ...visitor,
      click,
      type,
      fill: async (label, text) => {
        const field = page.getByLabel(label).first()
        // The first field of a form has the focus.
        if (!(await field.evaluate((element) => element === element.ownerDocument.activeElement))) await click(field)
        await type(text)
      },
      press: (name) => click(page.getByRole('button', { name, exact: true }).first()),
      follow: (name) => click(page.getByRole('link', { name, exact: true }).first()),
    }
  }

  before(async () => {
    began = performance.now()
    dora = await newPerson()
    emil = await newPerson()
  })
  after(async () => {
    for (const person of [dora, emil]) await person?.context.close()
  })
  afterEach(async function (this: Mocha.Context) {
    const { clicks, keys, pages } = spent
    const seconds = Math.round((performance.now() - began) / 1000)
    if (pace) process.stdout.write(`      ${seconds} s, ${clicks} clicks, ${keys} keys, ${pages} pages\n`)
    await sleep(pace?.page ?? 0)
  })

  const bellOf = ({ page }: Person) => page.getByRole('banner').getByRole('link', { name: /1 unread/ })

  const signUp = async (person: Person, name: string) => {
    await person.fill('E-mail', `${name.toLowerCase()}@example.org`)
    await person.fill('Name', name)
    await person.fill('Password', password)
    await person.press('Sign up')
  }

  it('sign up, and stand in their own organisation', async () => {
    await dora.open('/')
    await dora.follow('Create an account')
    await signUp(dora, 'Dora')
    await reached(dora.page, 'Dora')
  })

  it('save a first page', async () => {
    const { page } = dora
    await dora.click(
      page
        .getByRole('main')
        .getByRole('link', { name: /first page|New page|Write/i })
        .first(),
    )
    await reached(page, 'New page')
    await page.locator('.cm-content').waitFor()
    await dora.fill('Title', 'Whales')
    await dora.click(page.locator('.cm-content'))
    await dora.type('Whales are large mammals. They live in the sea.')
    await dora.press('Save')
    await reached(page, 'Whales')
    await expectSound(page)
  })

  it('invite another one by a link', async () => {
    const { page } = dora
    await dora.follow('Dora')
    await dora.follow('Members')
    await dora.follow('Invite and manage members')
    await dora.press('Create invitation')
    invitation = (await page.locator('[data-token]').textContent()) ?? ''
    await sleep(pace?.send ?? 0)
  })

  it('join by it', async () => {
    const { page } = emil
    await page.goto(invitation)
    await emil.press('Create an account')
    await signUp(emil, 'Emil')
    await reached(page, 'Dora')
  })

  it('propose a sentence', async () => {
    const { page } = emil
    await emil.follow('Whales')
    await reached(page, 'Whales')
    await emil.follow('Edit')
    await emil.click(page.locator('.cm-content'))
    await page.keyboard.press('Control+End')
    await emil.type(' They sing.')
    await emil.press('Propose changes')
    await page.getByRole('heading', { name: /#1$/ }).waitFor()
  })

  it('are told by the bell of an open page that another one asks for a review', async () => {
    await emil.click(emil.page.locator('summary', { hasText: 'Ask for a review' }))
    await emil.press('Ask')
    await emil.page.getByText('Waiting for').first().waitFor()
    const asked = performance.now()
    await bellOf(dora).waitFor()
    if (pace) process.stdout.write(`      told after ${Math.round(performance.now() - asked)} ms\n`)
  })

  it('find it by the bell, and merge it', async () => {
    const { page } = dora
    await dora.click(bellOf(dora))
    await dora.click(
      page
        .getByRole('main')
        .getByRole('link', { name: /Whales/ })
        .first(),
    )
    await dora.press('Merge')
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
  })

  it('have needed no more than before, and met no fault', () => {
    expect(spent.clicks, 'clicks').to.be.at.most(29)
    expect(spent.pages, 'pages').to.be.at.most(20)
    for (const { faults } of [dora, emil]) expect(faults).to.deep.equal([])
  })
})
