/** The number of unread items follows the inbox while somebody looks at a page, and asks nothing otherwise. */
import { expect } from 'chai'
import { ann, grove, newVisitor, signIn, useScene, type Visitor } from '../pages/scene.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { edit, follow } from './scene.ts'

describe('the bell in a browser', () => {
  useScene()
  let bob: PersonClient
  let node: TestNode
  let visitor: Visitor

  beforeEach(async () => {
    bob ??= await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }).then(expecting(200))
    node = await newNode(grove, ann, { title: 'Whales' })
    await follow(ann, node)
    visitor = await newVisitor()
    await signIn(visitor)
  })
  afterEach(() => visitor.context.close())

  it('tells within ten seconds, in the top bar, the menu and the title', async () => {
    const { page } = visitor
    await page.clock.install()
    await visitor.open(pageAt(ann.org))
    const bell = page.getByRole('link', { name: 'Inbox' }).first()
    const title = await page.title()
    await edit(bob, node, 'Blue whales')
    await page.clock.runFor(8_000)
    await page.getByRole('link', { name: 'Inbox: 1 unread' }).waitFor()
    expect(await page.title()).to.equal(`(1) ${title}`)
    const { GROVE_SHOTS: folder } = process.env
    if (folder !== undefined)
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [390, 1440]) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 700 })
          await page.getByLabel('Signed in as Ann').click()
          await page.screenshot({ path: `${folder}/bell-${colorScheme}-${width}.png` })
          await page.getByLabel('Signed in as Ann').click()
        }
    await page.getByLabel('Signed in as Ann').click()
    expect(await page.locator('.menu').getByRole('link', { name: 'Inbox' }).innerText()).to.match(/^Inbox\s+1$/)
    const { now } = (await ann.get('/inbox')).body
    await ann.put('/inbox-mark', { cursor: now }).then(expecting(204))
    await page.clock.runFor(8_000)
    await page.getByRole('link', { name: 'Inbox: 1 unread' }).waitFor({ state: 'detached' })
    expect(await page.title()).to.equal(title)
    expect(await bell.getAttribute('aria-label')).to.equal('Inbox')
    expect(visitor.faults).to.deep.equal([])
  })

  it('asks nothing in a hidden tab, nor ten minutes after the last sign of the reader', async () => {
    const { page } = visitor
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/inbox-unread')) asked++
    })
    await page.clock.install()
    await visitor.open(pageAt(ann.org))
    const first = page.waitForResponse(/inbox-unread/)
    await page.clock.runFor(8_000)
    await first
    await page.evaluate('Object.defineProperty(document, "hidden", { value: true, configurable: true })')
    await page.clock.runFor(60_000)
    expect(asked).to.equal(1)
    await page.evaluate('delete document.hidden')
    const shown = page.waitForResponse(/inbox-unread/)
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    await shown
    await page.clock.fastForward(11 * 60_000)
    const before = asked
    await page.clock.runFor(60_000)
    expect(asked).to.equal(before)
    const moved = page.waitForResponse(/inbox-unread/)
    await page.mouse.move(200, 200)
    await moved
  })
})
