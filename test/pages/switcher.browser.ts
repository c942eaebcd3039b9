/** The quick switcher: Ctrl+K finds pages of all organisations and acts, by keyboard and by readers of screens. */

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('the quick switcher', () => {
  useScene()
  let atlas: string
  let bays: string
  let krill: string
  let visitor: Visitor

  const add = async (org: string, title: string, who: PersonClient = ann) =>
    (await made(who.post(`/orgs/${org}/nodes`, { title, text_content: `About ${title}.` }))).id as string

  before(async () => {
    atlas = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    bays = (await made(ann.post('/orgs', { name: 'Bays' }))).id
    krill = await add(atlas, 'Krill')
    await add(atlas, 'Whale songs')
    await add(atlas, 'Whale bones')
    await add(bays, 'Whale bay')
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  const dialog = (page: Page) => page.getByRole('dialog', { name: 'Go to a page or an action' })
  const openSwitcher = async (page: Page) => {
    await page.keyboard.press('Control+k')
    await dialog(page).waitFor()
    return dialog(page).getByRole('combobox')
  }
  const options = (page: Page, group: string) =>
    dialog(page).getByRole('group', { name: group, exact: true }).getByRole('option')
  const labels = async (page: Page, group: string) => options(page, group).locator('.t').allTextContents()
  const said = (page: Page) => dialog(page).getByRole('status')

  it('opens in every field but the text of the editor, closes, and gives the focus back', async () => {
    const { page, open, faults } = visitor
    await open(pageAt(atlas, krill))
    await page.getByRole('combobox', { name: 'Search Atlas' }).or(page.getByRole('searchbox')).first().focus()
    const input = await openSwitcher(page)
    expect(await input.evaluate((element) => element === document.activeElement)).to.equal(true)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).to.equal('q')
    await openSwitcher(page)
    await page.keyboard.press('Control+k')
    await dialog(page).waitFor({ state: 'detached' })
    await open(`${pageAt(atlas, krill)}/edit`)
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.press('Control+k')
    await until(async () => (await page.locator('.cm-content').textContent())?.includes('](') === true)
    expect(await dialog(page).count()).to.equal(0)
    expect(faults).to.deep.equal([])
  })

  it('offers what applies here, and acts', async () => {
    const { page, open } = visitor
    await open(pageAt(atlas, krill))
    const input = await openSwitcher(page)
    await options(page, 'Actions').filter({ hasText: 'New page' }).waitFor()
    const offered = await labels(page, 'Actions')
    expect(offered).to.include.members(['New subpage', 'Edit', 'History', 'Graph', 'New page', 'Sign out'])
    expect(offered).to.include.members(['Recent changes in Atlas', 'Settings of Atlas', 'Move'])
    expect(new Set(offered).size).to.equal(offered.length)
    await input.fill('hist')
    await options(page, 'Actions').first().waitFor()
    await said(page).filter({ hasText: 'results' }).waitFor()
    await page.keyboard.press('Enter')
    await reached(page, 'History')
    await openSwitcher(page)
    await page.keyboard.type('light and dark')
    await said(page).filter({ hasText: 'result' }).waitFor()
    const before = await page.evaluate(() => document.documentElement.dataset.theme)
    await page.keyboard.press('Enter')
    await until(async () => (await page.evaluate(() => document.documentElement.dataset.theme)) !== before)
  })

  it('finds pages by the beginnings of words, here first, and says where each is', async () => {
    const { page, open } = visitor
    await open(`/o/${atlas}`)
    const input = await openSwitcher(page)
    await input.pressSequentially('wha b')
    await options(page, 'Pages').filter({ hasText: 'Whale bay' }).waitFor()
    await said(page).filter({ hasText: 'results' }).waitFor()
    const found = await options(page, 'Pages').evaluateAll((all) =>
      all.map((one) => [...one.children].map(({ textContent }) => textContent)),
    )
    expect(found).to.deep.equal([
      ['Whale bones', 'Atlas'],
      ['Whale bay', 'Bays'],
    ])
    const total = await dialog(page).getByRole('option').count()
    expect(await said(page).textContent()).to.match(new RegExp(`^${total} results`))
    expect(await input.getAttribute('aria-activedescendant')).to.equal(
      await options(page, 'Pages').first().getAttribute('id'),
    )
    await expectSound(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await reached(page, 'Whale bay')
  })

  it('opens a page in a new tab with Ctrl+Enter, and stays', async () => {
    const { page, open, context } = visitor
    await open(`/o/${atlas}`)
    const input = await openSwitcher(page)
    await input.fill('whale songs')
    await options(page, 'Pages').filter({ hasText: 'Whale songs' }).waitFor()
    const [tab] = await Promise.all([context.waitForEvent('page'), page.keyboard.press('Control+Enter')])
    await reached(tab, 'Whale songs')
    await tab.close()
    expect(await dialog(page).count()).to.equal(1)
  })

  it('goes to organisations, and to the full search', async () => {
    const { page, open } = visitor
    await open(`/o/${atlas}`)
    await (await openSwitcher(page)).fill('bay')
    await options(page, 'Organisations').filter({ hasText: 'Bays' }).click()
    await page.waitForURL(new RegExp(`${pageAt({ id: bays, name: 'Bays' })}$`))
    await (await openSwitcher(page)).fill('tidal & "calm"')
    await options(page, 'Actions').filter({ hasText: 'Search Bays for' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/find\?q=/)
    expect(new URL(page.url()).searchParams.get('q')).to.equal('tidal & "calm"')
  })

  it('never shows a late answer for words that have changed', async () => {
    const { page, open } = visitor
    await open(`/o/${atlas}`)
    let release = () => {}
    const isHeld = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    await page.route(/\/suggest\?.*q=kri(&|$)/, async (route) => {
      asked++
      await isHeld
      await route.continue().catch(() => undefined)
    })
    const input = await openSwitcher(page)
    await input.fill('kri')
    await until(() => asked > 0)
    await input.fill('whale')
    await said(page).filter({ hasText: 'results' }).waitFor()
    const before = await labels(page, 'Pages')
    release()
    // The answer that was held has arrived, or the page has given it up, once a later search is answered.
    await input.fill('whale s')
    await input.fill('whale')
    await said(page).filter({ hasText: 'results' }).waitFor()
    expect(await labels(page, 'Pages'))
      .to.deep.equal(before)
      .and.include('Whale bones')
      .and.not.include('Krill')
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('opens what the last letter finds if Enter comes before its answer', async () => {
    const { page, open } = visitor
    await open(`/o/${atlas}`)
    let release = () => {}
    const isHeld = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/\/suggest\?/, async (route) => {
      await isHeld
      await route.continue().catch(() => undefined)
    })
    const input = await openSwitcher(page)
    await input.fill('kri')
    await page.keyboard.press('Enter')
    expect(await dialog(page).count()).to.equal(1)
    release()
    await reached(page, 'Krill')
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('says which organisation could not be searched, and shows the others', async () => {
    const { page, open } = visitor
    await open(`/o/${atlas}`)
    const body = JSON.stringify({ code: 'too_large', detail: 'The index is being rebuilt' })
    await page.route(new RegExp(`/orgs/${bays}/suggest`), (route) =>
      route.fulfill({ status: 422, contentType: 'application/json', body }),
    )
    const input = await openSwitcher(page)
    await input.fill('whale')
    await dialog(page).getByRole('alert').filter({ hasText: 'Bays could not be searched.' }).waitFor()
    expect(await labels(page, 'Pages')).to.include.members(['Whale bones', 'Whale songs'])
    await expectSound(page)
    await input.fill('')
    expect(await dialog(page).getByRole('alert').count()).to.equal(0)
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('remembers the last 20 pages of this user, newest first, until they sign out', async () => {
    const ben = await signUp(grove, 'Ben')
    const reader = await newVisitor()
    await signIn(reader, ben)
    const { page, open } = reader
    const ids: string[] = []
    for (let n = 1; n <= 22; n++) ids.push(await add(ben.org, `Page ${n}`, ben))
    for (const id of ids) await open(pageAt(ben.org, id))
    await open(pageAt(ben.org, ids[20]))
    const stored = () => page.evaluate(() => JSON.parse(localStorage.recents ?? 'null'))
    await until(async () => (await stored()).pages[0].title === 'Page 21')
    const titles = (await stored()).pages.map(({ title }: { title: string }) => title)
    expect(titles).to.deep.equal(['Page 21', 'Page 22', ...Array.from({ length: 18 }, (_, n) => `Page ${20 - n}`)])
    await openSwitcher(page)
    expect((await labels(page, 'Recent pages')).slice(0, 2)).to.deep.equal(['Page 22', 'Page 20'])
    await page.keyboard.press('Escape')
    // Another user of the same browser sees none of them, also if the session has ended without signing out.
    await page.evaluate(() => {
      localStorage.recents = JSON.stringify({ ...JSON.parse(localStorage.recents), person: 'another' })
    })
    await open('/')
    await openSwitcher(page)
    expect(await labels(page, 'Recent pages')).to.deep.equal([])
    await page.keyboard.press('Escape')
    await page.getByLabel('Signed in as Ben').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    expect(await stored()).to.equal(null)
    await reader.context.close()
  })

  it('is named by the list of keys, and on the home page by a button, also on a phone', async () => {
    const { page, open, faults } = visitor
    await open('/')
    await page.keyboard.press('?')
    await page.locator('dialog.keys kbd', { hasText: 'Ctrl+K' }).waitFor()
    // Another dialog keeps the focus.
    await page.keyboard.press('Control+k')
    expect(await dialog(page).count()).to.equal(0)
    await page.keyboard.press('Escape')
    for (const [width, name] of [
      [1440, 'Go to a page Ctrl K'],
      [390, 'Go to a page'],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.getByRole('button', { name, exact: true }).click()
      await dialog(page).waitFor()
      await dialog(page).getByRole('combobox').fill('whale')
      await options(page, 'Pages').filter({ hasText: 'Whale bay' }).waitFor()
      await expectSound(page)
      await dialog(page).getByRole('button', { name: 'Close' }).click()
      await dialog(page).waitFor({ state: 'detached' })
    }
    await page.setViewportSize({ width: 1440, height: 800 })
    expect(faults).to.deep.equal([])
  })

  it('searches a published organisation for anonymous visitors, and asks nothing that needs a session', async () => {
    const guest = await newVisitor({ colorScheme: 'dark' })
    const { page, open, faults } = guest
    await open(pageAt(atlas, krill))
    const input = await openSwitcher(page)
    await input.fill('whale')
    await options(page, 'Pages').filter({ hasText: 'Whale songs' }).waitFor()
    await until(async () => /^\d+ results/.test((await said(page).textContent()) ?? ''))
    expect(await labels(page, 'Pages')).to.have.members(['Whale bones', 'Whale songs'])
    expect(await dialog(page).getByRole('alert').count()).to.equal(0)
    expect(await page.evaluate(() => localStorage.recents)).to.equal(undefined)
    await expectSound(page)
    expect(faults).to.deep.equal([])
    await guest.context.close()
  })

  it('has no button without script', async () => {
    const reader = await newVisitor({ javaScriptEnabled: false, storageState: await visitor.context.storageState() })
    await reader.open('/')
    await reader.page.getByLabel('Signed in as Ann').waitFor()
    expect(await reader.page.locator('[data-switch]').filter({ visible: true }).count()).to.equal(0)
    await reader.context.close()
  })
})
