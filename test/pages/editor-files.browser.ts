/** Files, drafts and views of the editor: what is attached is shown, listed and removed; both views are reached. */

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

/** A PNG of one pixel. */
const pixel = [
  ...[137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196],
  ...[137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 240, 31, 0, 5, 0, 1, 255, 137, 153, 61, 29, 0, 0],
  ...[0, 0, 73, 69, 78, 68, 174, 66, 96, 130],
]

describe('files and views of the editor', () => {
  useScene()
  let org: string
  let visitor: Visitor

  const field = (page: Page) => page.locator('.cm-content')
  const make = async (text_content = 'Whales.\n') =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content }))).id as string
  const edit = async (node: string, { open, page } = visitor) => {
    await open(`${pageAt(org, node)}/edit`)
    await page.getByRole('toolbar').waitFor()
    await field(page).click()
    await page.keyboard.press('Control+End')
  }
  /** Drops files of these names, types and sizes. Without a size, each is a picture of one pixel. */
  const drop = ({ page }: Visitor, files: readonly { name: string; type?: string; size?: number }[]) =>
    field(page).evaluate(
      (element, [given, bytes]) => {
        const data = new DataTransfer()
        for (const { name, type = 'image/png', size } of given)
          data.items.add(new File([size === undefined ? new Uint8Array(bytes) : new Uint8Array(size)], name, { type }))
        element.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
      },
      [files, pixel] as const,
    )
  const preview = (page: Page) => page.getByRole('tabpanel', { name: 'Preview' })
  const press = (name: string, { page } = visitor) => page.getByRole('button', { name, exact: true }).click()

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('show a picture that was just attached, and lead other files to the list', async () => {
    const { page, faults } = visitor
    const node = await make()
    await edit(node)
    await drop(visitor, [{ name: 'fin.png' }, { name: 'run.html', type: 'text/html', size: 1_500 }])
    await press('Preview')
    await preview(page).locator('img[alt="fin.png"]').waitFor()
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('[data-preview] img')?.naturalWidth === 1)
    expect(await preview(page).getByRole('link', { name: 'run.html' }).getAttribute('href')).to.equal('#attached')
    const list = page.getByRole('region', { name: 'Files to upload' })
    expect(await list.getByRole('listitem').allTextContents()).to.deep.equal([
      'fin.png70 bytesRemove',
      'run.html2 KBRemove',
    ])
    await expectSound(page)
    await list.getByRole('button', { name: 'Remove run.html' }).click()
    await preview(page).getByText('run.html').waitFor({ state: 'detached' })
    await press('Save')
    await reached(page, 'Whales')
    const { text_content } = await made(ann.get(`/orgs/${org}/nodes/${node}`))
    expect(text_content).to.equal('Whales.\n![fin.png](files/fin.png)')
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('.prose img')?.naturalWidth === 1)
    const { entities } = await made(ann.get(`/orgs/${org}/nodes/${node}/tree/main`))
    expect(JSON.stringify(entities)).to.include('files/fin.png').and.to.not.include('run.html')
    expect(faults).to.deep.equal([])
  })

  it('say that a file is too large, until the next one is attached', async () => {
    const { page } = visitor
    await edit(await make())
    await drop(visitor, [{ name: 'big.png', size: 10 * 1_048_576 + 1 }])
    const alert = page.getByRole('alert')
    await alert.getByText('big.png is larger than 10 MB. Larger files can be pushed with git.').waitFor()
    await drop(visitor, [{ name: 'fin.png' }])
    await page.getByText('fin.png will be uploaded when you save.').waitFor()
    expect(await alert.isVisible()).to.equal(false)
  })

  it('do not upload a file whose link was deleted, and say so', async () => {
    const { page } = visitor
    const node = await make()
    await edit(node)
    await drop(visitor, [{ name: 'fin.png' }])
    await page.getByText('fin.png will be uploaded').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.type('Nothing.')
    await page.getByText('Not in the text, so it will not be uploaded.').waitFor()
    await press('Save')
    await reached(page, 'Whales')
    const { entities } = await made(ann.get(`/orgs/${org}/nodes/${node}/tree/main`))
    expect(JSON.stringify(entities)).to.not.include('fin.png')
  })

  it('take no harm from names', async () => {
    const { page, faults } = visitor
    const node = await make('')
    await edit(node)
    const names = [
      '<img src=x onerror=alert(1)>.png',
      '](javascript:alert(1)).png',
      '../../../etc/passwd.png',
      '`$x$`|a.png',
      'gnp.\u202efdp.png',
      '.png',
      '%2e%2e%2f.png',
    ]
    await drop(
      visitor,
      names.map((name) => ({ name })),
    )
    await press('Preview')
    await page.waitForFunction(
      (count) => document.querySelectorAll('[data-preview] img').length === count,
      names.length,
    )
    expect(await preview(page).locator('a:not(.picture), [onerror]').count()).to.equal(0)
    await press('Save')
    await reached(page, 'Whales')
    await page.waitForFunction(
      (count) =>
        [...document.querySelectorAll<HTMLImageElement>('.prose img')].filter((one) => {
          one.loading = 'eager'
          return one.naturalWidth === 1
        }).length === count,
      names.length,
    )
    expect(await page.locator('.prose [onerror], .prose a').count()).to.equal(0)
    expect(faults).to.deep.equal([])
  })

  it('offer a draft with its day and time', async () => {
    const { page, open } = visitor
    const node = await make()
    await edit(node)
    await page.keyboard.type('Not saved.')
    await open('/')
    await edit(node)
    const notice = page.locator('.editor .notice')
    expect(await notice.textContent()).to.match(
      /^You have an unsaved draft from \d{1,2} [A-Z][a-z]{2,3}, \d\d:\d\d\.RestoreDiscard$/,
    )
    await press('Discard')
    expect(await notice.count()).to.equal(0)
    await edit(node)
    expect(await notice.count()).to.equal(0)
  })

  it('are both shown in a wide window, and the preview follows the text', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 1440, height: 900 })
    await edit(await make(`${'A paragraph of the text.\n\n'.repeat(150)}The end.\n`))
    await press('Preview')
    await preview(page).getByText('The end.').waitFor()
    expect(await field(page).isVisible()).to.equal(true)
    for (const [to, holds] of [
      [1, (at: number, room: number) => at > room - 5],
      [0, (at: number) => at < 5],
    ] as const) {
      await page.evaluate((end) => scrollTo(0, end * document.body.scrollHeight), to)
      await page.waitForFunction(
        ([end]) => {
          const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = document.querySelector('[data-preview]') ?? {}
          return end === 1 ? scrollTop > scrollHeight - clientHeight - 5 : scrollTop < 5
        },
        [to],
      )
      const { at, room } = await preview(page).evaluate((one) => ({
        at: one.scrollTop,
        room: one.scrollHeight - one.clientHeight,
      }))
      expect(holds(at, room), `${at} of ${room}`).to.equal(true)
    }
  })

  it('are two tabs in a narrow window', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 820, height: 900 })
    await edit(await make())
    await page.getByRole('tab', { name: 'Write', selected: true }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: 'Preview', selected: true }).waitFor()
    await preview(page).getByText('Whales.').waitFor()
    expect(await field(page).isVisible()).to.equal(false)
    await expectSound(page)
    await page.keyboard.press('ArrowLeft')
    await field(page).waitFor()
    expect(await preview(page).isVisible()).to.equal(false)
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  for (const javaScriptEnabled of [true, false])
    it(`begin a new page in its title, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
      const writer = await newVisitor({ javaScriptEnabled })
      await signIn(writer)
      await writer.open(`${pageAt(org)}/new`)
      await writer.page.locator('input[name=title]:focus').waitFor()
      const title = javaScriptEnabled ? 'Orcas' : 'Belugas'
      await writer.page.keyboard.type(title)
      if (javaScriptEnabled) await writer.page.getByPlaceholder('Create Orcas').waitFor()
      await writer.page.keyboard.press('Enter')
      if (javaScriptEnabled) {
        await writer.page.locator('.cm-content:focus').waitFor()
        await writer.page.keyboard.type('Black and white.')
        await writer.page.keyboard.press('Control+Enter')
      }
      await reached(writer.page, title)
      if (javaScriptEnabled) expect(await writer.page.locator('.prose').textContent()).to.equal('Black and white.\n')
      await writer.context.close()
    })
})
