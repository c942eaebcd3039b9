/** Keys of pages: none acts inside a field, and the focus is always somewhere. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('keys', () => {
  useScene()
  let org: string
  let node: string
  let visitor: Visitor

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    for (const title of ['Krill', 'Squid', 'Whales'])
      node = (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content: `Ocean ${title}.` }))).id
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  const focused = () => visitor.page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')

  it('walk through the tree from where one is, and through results', async () => {
    const { page, open } = visitor
    await open(pageAt(org, node))
    for (const [key, title] of [
      ['k', 'Squid'],
      ['k', 'Krill'],
      ['k', 'Krill'],
      ['j', 'Squid'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator('.tree a:focus', { hasText: title }).waitFor()
    }
    await page.keyboard.press('Enter')
    await reached(page, 'Squid')
    await open(`${pageAt(org)}/find?q=ocean`)
    await page.keyboard.press('j')
    await page.locator('.results a.t:focus').waitFor()
  })

  it('walk through the pages of a proposal, in the list and one at a time', async () => {
    const { page, open } = visitor
    const nodes = ['Crabs', 'Eels'].map((title) => ({ title, text_content: `Ocean ${title}.` }))
    const { number } = (await made(ann.post(`/orgs/${org}/change-sets`, { title: 'More', nodes }))).change_set
    await open(`${pageAt(org)}/proposals/${number}`)
    for (const [key, title] of [
      ['j', 'Crabs'],
      ['j', 'Eels'],
      ['k', 'Crabs'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator('summary:focus', { hasText: title }).waitFor()
    }
    await page.setViewportSize({ width: 390, height: 800 })
    await page.locator('.set-index a', { hasText: 'Crabs' }).click()
    await page.getByText('Ocean Crabs.').waitFor()
    await page.keyboard.press('j')
    await page.getByText('Ocean Eels.').waitFor()
    await expectSound(page)
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  it('keep the result that they chose when the answer for the last letter comes later', async () => {
    const { page, open } = visitor
    await open(pageAt(org, node))
    let answer = () => {}
    const isChosen = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(/\/suggest\?.*q=kr(&|$)/, async (route) => {
      await isChosen
      await route.continue()
    })
    await page.keyboard.press('/')
    await page.keyboard.press('k')
    await page.getByRole('option', { name: 'Krill' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.locator('[aria-activedescendant]').waitFor()
    await page.keyboard.press('r')
    // What is typed is searched again: nothing is chosen until the next arrow.
    expect(await page.locator('[aria-activedescendant]').count()).to.equal(0)
    await page.keyboard.press('ArrowDown')
    const later = page.waitForResponse(/\/suggest\?.*q=kr(&|$)/)
    // Texts are searched once the list is that of the last letter.
    const texts = page.waitForResponse(/\/search\/retrieve$/)
    answer()
    await later
    await texts
    await page.keyboard.press('Enter')
    await reached(page, 'Krill')
    await page.unrouteAll()
  })

  it('follow links: history, and editing', async () => {
    const { page, open } = visitor
    await open(pageAt(org, node))
    await page.keyboard.press('h')
    await page.waitForURL(/\/history$/)
    await page.goBack()
    await page.keyboard.press('e')
    await page.waitForURL(/\/edit$/)
  })

  it('type letters in fields, also in the editor', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org, node)}/edit`)
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' dehn?/')
    expect(await page.locator('.cm-content').textContent()).to.equal('Ocean Whales. dehn?/')
    expect(await page.locator('dialog').count()).to.equal(0)
    // Tab leaves the text forwards, not back to the toolbar.
    await page.keyboard.press('Tab')
    const isAfterText = `document.querySelector('#pane-write').compareDocumentPosition(document.activeElement) === Node.DOCUMENT_POSITION_FOLLOWING`
    expect(await page.evaluate(isAfterText)).to.equal(true)
  })

  it('are listed, and the focus returns from the list', async () => {
    const { page, open, faults } = visitor
    await open(pageAt(org, node))
    await page.getByRole('link', { name: 'Edit', exact: true }).focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await page.locator('dialog kbd').allTextContents()).to.include.members([
      '/',
      'j',
      'k',
      '↑ ↓ ← →',
      'e',
      'h',
      'd',
      '?',
    ])
    await expectSound(page)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await focused()).to.equal('Edit')
    expect(faults).to.deep.equal([])
  })
})
