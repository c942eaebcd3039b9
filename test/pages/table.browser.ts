/** The table of pages in a browser without scripts: filter, sort, choose columns, share the address, also by keyboard. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, useScene, type Visitor } from './scene.ts'

describe('the table of pages', () => {
  useScene()
  let at: string
  let visitor: Visitor

  before(async () => {
    const { id: org } = await made(ann.post('/orgs', { name: 'Kitchen', published: true }))
    const nodes = Array.from({ length: 60 }, (_, n) => ({
      title: `Soup ${n}`,
      tags: n % 2 === 0 ? ['hot'] : ['cold'],
      properties: { serves: n, status: n % 3 === 0 ? 'done' : 'open', 'in work': `by ${n}`, long: 'word'.repeat(100) },
    }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
    at = `${pageAt({ id: org, name: 'Kitchen' })}`
    visitor = await newVisitor({ javaScriptEnabled: false })
  })
  after(() => visitor.context.close())

  const rows = () => visitor.page.locator('tbody th').allTextContents()
  const headers = () => visitor.page.locator('thead th bdi').allTextContents()

  it('filters, sorts, turns pages, and removes a condition', async () => {
    const { page, open, faults } = visitor
    await open(at)
    await page.getByRole('navigation', { name: 'Kitchen' }).getByRole('link', { name: 'Pages' }).click()
    expect(await rows()).to.have.length(50)
    await page.getByRole('link', { name: 'Next', exact: true }).click()
    expect((await rows())[0]).to.equal('Soup 50')
    await page.getByLabel('Filter pages').fill('status:DONE serves>=30')
    await page.keyboard.press('Enter')
    await page.getByText('10 pages match', { exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'serves' }).getByRole('link').click()
    await page.getByRole('columnheader', { name: 'serves' }).getByRole('link').click()
    expect(await page.getByRole('columnheader', { name: 'serves' }).getAttribute('aria-sort')).to.equal('descending')
    expect((await rows())[0]).to.equal('Soup 57')
    await page.getByRole('link', { name: 'Remove the condition serves>=30' }).click()
    await page.getByText('20 pages match', { exact: true }).waitFor()
    expect(await page.getByLabel('Filter pages').inputValue()).to.equal('status:DONE')
    expect((await rows())[0]).to.equal('Soup 57')
    await page.getByRole('navigation', { name: 'Narrow the table' }).getByRole('link', { name: 'hot' }).click()
    await page.getByText('10 pages match', { exact: true }).waitFor()
    expect(faults).to.deep.equal([])
  })

  it('shows the columns that were chosen, also for a visitor with the address', async () => {
    const { page, open } = visitor
    await open(`${at}/nodes?where=status:done&sort=-serves`)
    await page.locator('summary', { hasText: 'Columns' }).click()
    for (const name of ['long', 'Tags', 'Changed']) await page.getByRole('checkbox', { name }).uncheck()
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByText('20 pages match', { exact: true }).waitFor()
    expect(await headers()).to.deep.equal(['Title', 'in work', 'serves', 'status'])
    await page.getByRole('columnheader', { name: 'in work' }).getByRole('link').click()
    const [shown, address] = [await rows(), page.url()]
    const other = await newVisitor({ javaScriptEnabled: false })
    await other.page.goto(address)
    expect(await other.page.locator('tbody th').allTextContents()).to.deep.equal(shown)
    expect(await other.page.locator('thead th bdi').allTextContents()).to.deep.equal(await headers())
    const [download] = await Promise.all([
      other.page.waitForEvent('download'),
      other.page.getByRole('link', { name: 'Download as CSV' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('kitchen.csv')
    await other.context.close()
  })

  it('can be used with the keyboard, and stays within the screen of a telephone', async () => {
    const { page, open } = visitor
    await page.setViewportSize({ width: 390, height: 800 })
    await open(`${at}/nodes?where=status:done`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(390)
    await page.getByLabel('Filter pages').focus()
    const seen: (string | null)[] = []
    for (let n = 0; n < 9; n++) {
      await page.keyboard.press('Tab')
      const focused = page.locator(':focus')
      seen.push((await focused.getAttribute('aria-label')) ?? (await focused.textContent()))
    }
    expect(seen.slice(0, 7)).to.deep.equal([
      'Filter',
      'How to write a filter',
      'Remove the condition status:done',
      'Download as CSV',
      'Feed',
      'Columns',
      'Pages',
    ])
    await page.getByRole('region', { name: 'Pages' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  it('is sound, in light and dark, with a wrong filter and with the help', async () => {
    // axe-core needs scripts.
    const { page, open, context, faults } = await newVisitor()
    for (const query of ['', '?where=status:done+statos:x', '?where=)', '?where=zzz:1', '?columns=title,long,id'])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await open(`${at}/nodes${query}`)
        await page.locator('summary', { hasText: 'How to write a filter' }).click()
        await expectSound(page)
      }
    expect(faults).to.deep.equal([])
    await context.close()
  })
})
