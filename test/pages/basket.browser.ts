/** A proposal of several pages in a browser: collected with the editor, and reviewed by keyboard. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('a proposal of several pages in a browser', () => {
  useScene()
  let org: string
  let bob: PersonClient
  const visitors: Visitor[] = []

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'contributor' }))
  })
  after(() => Promise.all(visitors.map(({ context }) => context.close())))

  const visitorOf = async (person: PersonClient, options: Parameters<typeof newVisitor>[0] = {}): Promise<Visitor> => {
    const visitor = await newVisitor(options)
    visitors.push(visitor)
    await signIn(visitor, person)
    return visitor
  }
  const expectSoundAtWidths = async ({ page }: Visitor): Promise<void> => {
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await expectSound(page)
    }
  }

  for (const colorScheme of ['light', 'dark'] as const)
    it(`is collected with the editor, and submitted (${colorScheme})`, async () => {
      const whales = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'Big.\n' }))).id
      const visitor = await visitorOf(bob, { colorScheme })
      const { page, open, faults } = visitor
      await open(`${pageAt(org)}/new`)
      await reached(page, 'New page')
      const name = page.getByLabel('Name of the new proposal')
      expect(await name.isVisible()).to.equal(false)
      await page.getByLabel('Title').fill('Krill')
      await page.getByLabel('Proposal', { exact: true }).selectOption('Add to a new one')
      await name.fill(`Food, ${colorScheme}`)
      await expectSoundAtWidths(visitor)
      await page.getByRole('button', { name: 'Propose' }).click()
      await page.getByRole('heading', { name: `Food, ${colorScheme}` }).waitFor()
      await open(`${pageAt(org, whales)}/edit`)
      await page.getByLabel('Title').fill('Blue whales')
      await page.getByLabel('Proposal', { exact: true }).selectOption(`Add to: “Food, ${colorScheme}” (1 page)`)
      await expectSoundAtWidths(visitor)
      await page.getByRole('button', { name: 'Propose changes' }).click()
      await page.locator('summary', { hasText: 'Blue whales' }).waitFor()
      await open(`${pageAt(org, whales)}/settings`)
      await expectSoundAtWidths(visitor)
      await page.getByRole('link', { name: 'Review and submit' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Submit for review' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
      await expectSoundAtWidths(visitor)
      await open(pageAt(org))
      expect(await page.getByRole('link', { name: 'Review and submit' }).count()).to.equal(0)
      expect(faults).to.deep.equal([])
    })

  it('is reviewed by keyboard, and loads the pages that are opened', async () => {
    const nodes = Array.from({ length: 12 }, (_, at) => ({
      title: `Fish ${at + 1}`,
      text_content: `Words of ${at + 1}.\n`,
    }))
    const { number } = (await made(bob.post(`/orgs/${org}/change-sets`, { title: 'Fish', nodes }))).change_set
    const visitor = await visitorOf(ann)
    const { page, open, faults } = visitor
    await open(`${pageAt(org)}/proposals/${number}`)
    await page.locator('.set-foot').first().scrollIntoViewIfNeeded()
    await page.getByText(/^[1-9]\d* of 12 pages read/).waitFor()
    for (let at = 0; at < 12; at++) await page.keyboard.press('j')
    await page.locator('summary:focus', { hasText: 'Fish 12' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Words of 12.').waitFor()
    const { items } = (await made(ann.get(`/orgs/${org}/change-sets/${number}`))).change_set
    expect([items[0].read, items[11].read]).to.deep.equal(['read', 'read'])
    await expectSound(page)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Approve')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve the other 11 pages' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('New page · 1 approval · approved by you').nth(11).waitFor({ state: 'attached' })
    expect(faults).to.deep.equal([])
  })
})
