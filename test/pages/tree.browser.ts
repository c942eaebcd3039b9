/** The tree with script: levels open in place, arrow keys, and pages that are dragged to another parent. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, withoutWords } from '../support/pages.ts'
import { ann, expectSound, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('the tree in a browser', () => {
  useScene()
  let org: string
  let visitor: Visitor
  const ids = new Map<string, string>()

  const add = async (titles: readonly string[], parent?: string) => {
    const parents = parent === undefined ? [] : [ids.get(parent)]
    const nodes = titles.map((title) => ({ id: randomUUID(), title, parents }))
    for (const { id, title } of nodes) ids.set(title, id)
    for (let at = 0; at < nodes.length; at += 200)
      await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes: nodes.slice(at, at + 200) }))
  }
  const at = (title: string) => pageAt(org, ids.get(title))
  const parentsOf = async (title: string): Promise<readonly { title: string; label: string }[]> => {
    const { parents } = await made(ann.get(`/orgs/${org}/nodes/${ids.get(title)}`))
    return parents.map((one: { title: string; label: string }) => ({ title: one.title, label: one.label }))
  }

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    ids.clear()
    await add(['Air', 'Sea'])
    await add(['Birds', 'Bats'], 'Air')
    await add(['Fish', 'Whales'], 'Sea')
    await add(['Blue whale'], 'Whales')
    visitor = await newVisitor({ viewport: { width: 1440, height: 600 } })
    await signIn(visitor)
  })
  afterEach(async () => {
    // A test makes one request fail.
    expect(visitor.faults.filter((fault) => !fault.includes('ERR_FAILED'))).to.deep.equal([])
    await visitor.context.close()
  })

  const row = (title: string) => visitor.page.locator('.tree .row', { hasText: new RegExp(`^${title}`) })
  const link = (title: string) => visitor.page.locator('.tree .t', { hasText: new RegExp(`^${title}$`) })
  const chevron = (title: string) => visitor.page.getByRole('button', { name: `Subpages of ${title}` })

  it('opens and closes levels in place, and remembers them on the next page', async () => {
    const { page, open } = visitor
    await open(at('Birds'))
    expect(await link('Fish').count()).to.equal(0)
    await chevron('Sea').click()
    await link('Whales').waitFor()
    await chevron('Whales').click()
    await link('Blue whale').waitFor()
    expect(await chevron('Sea').getAttribute('aria-expanded')).to.equal('true')
    expect(page.url()).to.match(/\/birds-\w{22}$/)
    await expectSound(page)
    expect(await row('Blue whale').locator('.chev, .n').count()).to.equal(0)
    expect(withoutWords((await row('Blue whale').locator('.add').getAttribute('href')) ?? '')).to.equal(
      `${pageAt(org)}/new?parent=${ids.get('Blue whale')}`,
    )
    await link('Bats').click()
    await reached(page, 'Bats')
    await link('Blue whale').waitFor()
    await chevron('Sea').click()
    await link('Whales').waitFor({ state: 'hidden' })
    await open(at('Birds'))
    await link('Birds').waitFor()
    await page.waitForLoadState('networkidle')
    expect(await link('Whales').count()).to.equal(0)
  })

  it('moves by arrow keys, opens and closes by them, and is one Tab stop', async () => {
    const { page, open } = visitor
    await open(at('Birds'))
    const isFocused = (title: string) => page.locator('.tree .t:focus', { hasText: new RegExp(`^${title}$`) }).waitFor()
    await link('Birds').focus()
    for (const [key, title] of [
      ['ArrowUp', 'Bats'],
      ['ArrowLeft', 'Air'],
      ['ArrowRight', 'Bats'],
      ['ArrowDown', 'Birds'],
      ['ArrowDown', 'Sea'],
      ['End', 'Sea'],
      ['Home', 'Air'],
      ['ArrowDown', 'Bats'],
      ['End', 'Sea'],
    ] as const) {
      await page.keyboard.press(key)
      await isFocused(title)
    }
    await page.keyboard.press('ArrowRight')
    await link('Fish').waitFor()
    await page.keyboard.press('ArrowRight')
    await isFocused('Fish')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await link('Fish').waitFor({ state: 'hidden' })
    // Tab comes back to the link that had the focus, and to no other one.
    await page.keyboard.press('Tab')
    expect(await page.locator('.tree :focus').count()).to.equal(0)
    await page.keyboard.press('Shift+Tab')
    await isFocused('Sea')
    await page.keyboard.press('Shift+Tab')
    expect(await page.locator('.tree :focus').count()).to.equal(0)
  })

  it('has few Tab stops before the text of a page with many siblings, without script all links', async () => {
    const { page, open } = visitor
    await add(
      Array.from({ length: 147 }, (_, n) => `Page ${n + 1}`),
      'Air',
    )
    await open(at('Page 70'))
    await page.locator('.tree .t[tabindex="0"]').waitFor()
    const isInText = "document.activeElement.closest('main') !== null"
    let stops = 0
    do await page.keyboard.press('Tab')
    while (!(await page.evaluate(isInText)) && ++stops < 400)
    expect(stops).to.be.below(15)
    const { context, page: plain, ...other } = await newVisitor({ javaScriptEnabled: false })
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    await other.open(at('Page 70'))
    expect(await plain.locator('.tree .t').count()).to.be.above(100)
    expect(await plain.locator('.tree [tabindex]').count()).to.equal(0)
    await context.close()
  })

  it('has one line for each title, which is its tooltip', async () => {
    const { page, open } = visitor
    const long = 'A title that is much longer than the column at the side is wide'
    await add([long], 'Air')
    await open(at(long))
    const current = page.locator('.tree [aria-current]')
    expect(await current.getAttribute('title')).to.equal(long)
    const heights = await page.locator('.tree .row').evaluateAll((rows) => rows.map((one) => one.clientHeight))
    expect(new Set(heights).size).to.equal(1)
  })

  it('shows the current page however many siblings it has, and leads to all of them', async () => {
    const { page, open } = visitor
    await add(
      Array.from({ length: 300 }, (_, n) => `Page ${n + 1}`),
      'Air',
    )
    await open(at('Page 200'))
    const current = page.locator('.tree [aria-current]')
    expect(await current.textContent()).to.equal('Page 200')
    const box = await current.boundingBox()
    expect(box?.y).to.be.within(150, 450)
    await page.locator('.tree .more a', { hasText: 'All 302 pages' }).click()
    await reached(page, 'Subpages of Air')
    await page.getByLabel('Filter by title').fill('page 20')
    await page.getByLabel('Filter by title').press('Enter')
    await page.getByText('11 pages with').waitFor()
    expect(await page.locator('.level .t').allTextContents()).to.include.members(['Page 20', 'Page 209'])
  })

  it('moves a page that is dropped upon another, and back', async () => {
    const { page, open } = visitor
    await made(ann.put(`/orgs/${org}/nodes/${ids.get('Birds')}/parents/${ids.get('Air')}`, { label: 'live in' }))
    await open(at('Birds'))
    await link('Birds').dragTo(link('Sea'))
    await page.getByText('Moved Birds to Sea.').waitFor()
    expect(await parentsOf('Birds')).to.deep.equal([{ title: 'Sea', label: 'live in' }])
    await page.locator(`[data-id="${ids.get('Sea')}"] > ul .t[aria-current]`).waitFor()
    await expectSound(page)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Moved Birds back.').waitFor()
    expect(await parentsOf('Birds')).to.deep.equal([{ title: 'Air', label: 'live in' }])
  })

  it('moves a page from the top, and to a page that had no subpages', async () => {
    const { page, open } = visitor
    await open(pageAt(org))
    await chevron('Air').click()
    await link('Bats').waitFor()
    await link('Sea').dragTo(link('Bats'))
    await page.getByText('Moved Sea to Bats.').waitFor()
    await page.locator(`[data-id="${ids.get('Bats')}"] > ul .t`, { hasText: 'Sea' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Moved Sea back.').waitFor()
    expect(await parentsOf('Sea')).to.deep.equal([])
  })

  it('says why a page cannot be moved, and leaves it where it was', async () => {
    const { page, open } = visitor
    await made(ann.put(`/orgs/${org}/nodes/${ids.get('Bats')}/parents/${ids.get('Fish')}`, {}))
    await open(at('Bats'))
    await chevron('Sea').click()
    await link('Fish').waitFor()
    // Sea is above Fish, of which Bats is a child.
    await link('Sea').dragTo(row('Bats').first())
    await page.getByText(/Sea was not moved\. .*cycle/).waitFor()
    expect(await parentsOf('Sea')).to.deep.equal([])
    await page.route(/\/parents\//, (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    )
    await link('Birds').dragTo(link('Fish'))
    await page.getByText('Birds is now in both places. The service could not be reached.').waitFor()
    expect((await parentsOf('Birds')).map(({ title }) => title)).to.deep.equal(['Air', 'Fish'])
  })

  it('offers no move if main changes only by proposals', async () => {
    const { page, open } = visitor
    await made(ann.patch(`/orgs/${org}`, { require_pull_requests: true }))
    await open(at('Birds'))
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.method()))
    await link('Birds').dragTo(link('Sea'))
    await chevron('Sea').click()
    await link('Fish').waitFor()
    expect(asked).to.not.include('PUT')
    expect(await page.locator('.tree .told').count()).to.equal(0)
  })
})
