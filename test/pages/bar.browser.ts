/** The bar at the top: it reaches the edge of the page, and a long title leaves the name of the organisation. */

import { expect } from 'chai'
import { type Browser, chromium } from 'playwright-core'
import { patience } from '../support/browser.ts'
import { made } from '../support/cast.ts'
import { ann, grove, useScene } from './scene.ts'

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
})
