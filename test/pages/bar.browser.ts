/** The bar at the top: its edges, the name of the organisation next to a long title, and the user's organisations. */

import { expect } from 'chai'
import { type Browser, chromium } from 'playwright-core'
import { patience } from '../support/browser.ts'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('the bar at the top', () => {
  useScene()
  let browser: Browser

  before(async () => {
    // By default, the driver hides scroll bars.
    browser = await chromium.launch({
      ...{ executablePath: '/usr/bin/chromium-headless-shell', timeout: patience },
      ...{ ignoreDefaultArgs: ['--hide-scrollbars'], args: ['--no-sandbox', '--disable-dev-shm-usage'] },
    })
  })
  after(() => browser?.close())

  it('reaches the edge or the scroll bar, on a short page too', async () => {
    for (const width of [390, 820, 1440]) {
      const page = await browser.newPage({ viewport: { width, height: 900 } })
      await page.goto(`${grove.url}/sign-in`)
      const edges =
        '[document.querySelector(".top").getBoundingClientRect().right, document.documentElement.clientWidth]'
      const [right, edge] = (await page.evaluate(edges)) as [number, number] // two numbers of the expression
      expect(right, String(width)).to.equal(edge)
      await page.close()
    }
  })

  it('shows the whole name of an organisation next to a long title', async () => {
    const { id: org } = await made(ann.post('/orgs', { name: 'Field notebook', published: true }))
    const title = 'A very long title of a page '.repeat(6).trim()
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title }))
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await page.goto(`${grove.url}/o/${org}/n/${id}/history`)
    const widths =
      '(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(document.querySelector(".crumbs .name"))'
    const [shown, whole] = (await page.evaluate(widths)) as [number, number] // two numbers of the expression
    expect(shown).to.be.at.least(whole)
    await page.close()
  })

  it('lists the organisations of the user, by keyboard', async () => {
    const long = `A name of one word: ${'Encyclopaedia'.repeat(5)}`
    const [atlas, other] = [
      (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id,
      (await made(ann.post('/orgs', { name: long }))).id,
    ]
    for (const width of [1440, 390]) {
      const visitor = await newVisitor({ viewport: { width, height: 800 } })
      const { page, open, faults } = visitor
      await open(pageAt(atlas))
      expect(await page.getByLabel('Your organisations').count()).to.equal(0)
      await signIn(visitor)
      await open(pageAt(atlas))
      const [arrow, list] = [page.getByLabel('Your organisations'), page.locator('[data-orgs]')]
      const focused = () => page.evaluate('document.activeElement.textContent')
      await arrow.and(page.locator('summary')).focus()
      await page.keyboard.press('Enter')
      await list.getByRole('link', { name: long }).waitFor()
      const names = await list.getByRole('link').allTextContents()
      expect([names.at(0), names.at(-1)]).to.deep.equal(['Home', 'New organisation'])
      expect(names).to.include.members(['Ann', 'Atlas', long])
      expect(await list.locator('[aria-current]').allTextContents()).to.deep.equal(['Atlas'])
      await expectSound(page)
      for (const [key, name] of [
        ['ArrowDown', 'Home'],
        ['ArrowUp', ''],
        ['ArrowUp', 'New organisation'],
        ['ArrowUp', long],
      ] as const) {
        await page.keyboard.press(key)
        expect(await focused()).to.equal(name)
      }
      await page.keyboard.press('Escape')
      await list.getByRole('link').first().waitFor({ state: 'hidden' })
      expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).to.equal('Your organisations')
      await page.keyboard.press('Enter')
      await list.getByRole('link', { name: long }).click()
      await reached(page, long)
      expect(new URL(page.url()).pathname).to.equal(pageAt({ id: other, name: long }))
      expect(faults).to.deep.equal([])
      await visitor.context.close()
    }
  })

  it('says that the organisations cannot be listed, and leads to them without script', async () => {
    const visitor = await newVisitor()
    await signIn(visitor)
    await visitor.page.route('**/orgs?*', (route) => route.abort())
    await visitor.page.getByLabel('Your organisations').and(visitor.page.locator('summary')).click()
    await visitor.page.getByRole('alert').filter({ hasText: 'could not be listed' }).waitFor()
    await visitor.context.close()
    const plain = await newVisitor({ javaScriptEnabled: false })
    await signIn(plain)
    await plain.open('/me/profile')
    await plain.page.getByRole('link', { name: 'Your organisations' }).click()
    expect(new URL(plain.page.url()).pathname).to.equal('/')
    await plain.context.close()
  })
})
