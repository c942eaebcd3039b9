/** The toolbar, the keys and the lists of the editor: by keyboard, by touch, and against a hostile clipboard. */

import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, completion, expectSound, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('the tools of the editor', () => {
  useScene()
  let org: string
  let node: string
  let visitor: Visitor

  const field = (page: Page) => page.locator('.cm-content')
  const toolbar = (page: Page) => page.getByRole('toolbar', { name: 'Formatting' })
  /** Opens an empty text, and sets the cursor into it when the tools are there. */
  const begin = async ({ open, page } = visitor) => {
    await open(`${pageAt(org)}/new`)
    await toolbar(page).waitFor()
    await field(page).click()
  }
  const lines = async (page: Page) => (await page.locator('.cm-line').allTextContents()).join('\n')
  const expectText = (text: string, { page } = visitor) =>
    page
      .waitForFunction(
        (wanted) => {
          const all = document.querySelector('.cm-host')?.shadowRoot?.querySelectorAll('.cm-line') ?? []
          return [...all].map((line) => line.textContent).join('\n') === wanted
        },
        text,
        { timeout: 5_000 },
      )
      .catch(async () => expect(await lines(page)).to.equal(text))

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    for (const title of ['Krill', 'Squid'])
      node = (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content: 'Small.' }))).id
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('continue a list, indent it by Tab, end it, and take each step back', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('1. one')
    await keyboard.press('Enter')
    await keyboard.type('two')
    await keyboard.press('Tab')
    await expectText('1. one\n   1. two')
    await keyboard.press('Enter')
    await keyboard.type('three')
    await keyboard.press('Shift+Tab')
    await expectText('1. one\n   1. two\n2. three')
    await keyboard.press('Enter')
    await keyboard.press('Enter')
    await keyboard.type('End')
    await expectText('1. one\n   1. two\n2. three\n\nEnd')
    for (let count = 0; count < 12; count++) await keyboard.press('Control+z')
    await expectText('')
    await keyboard.press('Control+y')
    expect(await lines(page)).to.not.equal('')
  })

  it('keep the focus while Tab indents, and let it go after Escape', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('- one')
    await keyboard.press('Tab')
    expect(await inText(page)).to.equal(true)
    expect(await field(page).getAttribute('aria-description')).to.include('press Escape, then Tab')
    await keyboard.press('Escape')
    await keyboard.press('Tab')
    expect(await inText(page)).to.equal(false)
    await field(page).click()
    await keyboard.press('Control+End')
    await keyboard.press('Enter')
    await keyboard.press('Enter')
    await keyboard.press('Tab')
    expect(await inText(page), 'outside a list').to.equal(false)
  })

  it('set and remove bold, italic, code and links by keys', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('word')
    await keyboard.press('Control+a')
    for (const [key, text] of [
      ['b', '**word**'],
      ['i', '***word***'],
      ['i', '**word**'],
      ['b', 'word'],
      ['e', '`word`'],
      ['e', 'word'],
      ['k', '[word]()'],
    ] as const) {
      await keyboard.press(`Control+${key}`)
      await expectText(text)
    }
    await keyboard.type('https://example.org')
    await keyboard.press('Control+k')
    await expectText('word')
  })

  it('end bold, italic and code by the key that began them', async () => {
    const { page } = visitor
    const { keyboard } = page
    for (const [key, mark] of [
      ['b', '**'],
      ['i', '*'],
      ['e', '`'],
    ] as const) {
      await begin()
      await keyboard.type('A ')
      await keyboard.press(`Control+${key}`)
      await keyboard.type('whale')
      await keyboard.press(`Control+${key}`)
      await keyboard.type(' swims')
      await expectText(`A ${mark}whale${mark} swims`)
      for (let count = 0; count < 6; count++) await keyboard.press('ArrowLeft')
      await keyboard.press(`Control+${key}`)
      await keyboard.type('s')
      await expectText(`A ${mark}whales${mark} swims`)
      for (let count = 0; count < 3; count++) await keyboard.press('ArrowLeft')
      await keyboard.press(`Control+${key}`)
      await expectText('A whales swims')
    }
  })

  it('end bold after a space, and one of two marks at a time', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.press('Control+b')
    await keyboard.type('big ')
    await keyboard.press('Control+b')
    await keyboard.type('whale ')
    await expectText('**big** whale ')
    await keyboard.press('Control+b')
    await keyboard.press('Control+i')
    await keyboard.type('a')
    await keyboard.press('Control+i')
    await keyboard.type(' b')
    await keyboard.press('Control+b')
    await keyboard.type(' c')
    await expectText('**big** whale ***a* b** c')
  })

  it('fill a table by Tab and Enter, and end it', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('/tab')
    await completion(page, 'Table | |').waitFor()
    await keyboard.press('Enter')
    for (const cell of ['Name', 'Depth', 'Krill', '10', 'Squid']) {
      await keyboard.type(cell)
      await keyboard.press('Tab')
    }
    await keyboard.type('a\\|b')
    const filled = '| Name | Depth |\n| --- | --- |\n| Krill | 10 |\n| Squid | a\\|b |'
    await expectText(filled)
    await keyboard.press('Enter')
    await expectText(`${filled}\n|  |  |`)
    await keyboard.press('Enter')
    await keyboard.type('After')
    await expectText(`${filled}\n\nAfter`)
    for (let count = 0; count < 3; count++) await keyboard.press('ArrowUp')
    await keyboard.press('Control+ArrowRight')
    await keyboard.press('Shift+Tab')
    await keyboard.press('Shift+Tab')
    await keyboard.press('Shift+Tab')
    await keyboard.press('Shift+Tab')
    await keyboard.type('Animal')
    await expectText(`${filled.replace('Name', 'Animal')}\n\nAfter`)
    expect(await inText(page)).to.equal(true)
    await keyboard.press('Escape')
    await keyboard.press('Tab')
    expect(await inText(page), 'after Escape').to.equal(false)
  })

  it('go through tables in quotes, and add a row to titles', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.insertText('> | A | B |\n> | :-- | --- |')
    await keyboard.press('Enter')
    await keyboard.type('one')
    await expectText('> | A | B |\n> | :-- | --- |\n> | one |  |')
    await keyboard.press('ArrowUp')
    await keyboard.press('ArrowUp')
    await keyboard.press('End')
    await keyboard.press('Enter')
    await keyboard.type('zero')
    await keyboard.press('Tab')
    await keyboard.press('Tab')
    await keyboard.press('Tab')
    await keyboard.type('two')
    await expectText('> | A | B |\n> | :-- | --- |\n> | zero |  |\n> | one | two |')
  })

  it('are reached by the keyboard: one stop for Tab, arrows between buttons', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('Whales')
    await toolbar(page).getByRole('button', { name: 'Heading' }).focus()
    await keyboard.press('Enter')
    await expectText('## Whales')
    await keyboard.press('ArrowRight')
    expect(await focusedName(page)).to.equal('Bold')
    await keyboard.press('End')
    expect(await focusedName(page)).to.equal('Attach a picture or file')
    await keyboard.press('ArrowRight')
    expect(await focusedName(page)).to.equal('Heading')
    await keyboard.press('ArrowLeft')
    await keyboard.press('ArrowLeft')
    expect(await focusedName(page)).to.equal('Table')
    await page.getByLabel('Title').focus()
    await keyboard.press('Tab')
    expect(await focusedName(page), 'after the title').to.equal('Table')
    await keyboard.press('Tab')
    await keyboard.press('Tab')
    expect(await inText(page), 'after the tools and the preview').to.equal(true)
    await keyboard.press('Shift+Tab')
    await keyboard.press('Shift+Tab')
    await keyboard.press('Space')
    await expectText('## Whales\n\n| Column | Column |\n| --- | --- |\n|  |  |')
  })

  it('show the marks at the cursor', async () => {
    const { page } = visitor
    await begin()
    await page.keyboard.type('**bold**')
    const bold = toolbar(page).getByRole('button', { name: 'Bold' })
    expect(await bold.getAttribute('aria-pressed')).to.equal('false')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.locator('[data-do=bold][aria-pressed=true]').waitFor()
  })

  it('work by touch on a telephone, and keep its keyboard open', async () => {
    const phone = await newVisitor({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true })
    const { page } = phone
    await signIn(phone)
    await begin(phone)
    await page.keyboard.type('whales')
    for (const name of ['List', 'Tasks', 'Quote'] as const)
      await toolbar(page).getByRole('button', { name, exact: true }).tap()
    await expectText('> - [ ] whales', phone)
    expect(await inText(page)).to.equal(true)
    for (const box of await Promise.all(
      (await toolbar(page).getByRole('button').all()).map((one) => one.boundingBox()),
    ))
      expect(box && box.x >= 0 && box.x + box.width <= 390 && box.height >= 40, JSON.stringify(box)).to.equal(true)
    await expectSound(page)
    expect(phone.faults).to.deep.equal([])
    await phone.context.close()
  })

  it('insert a block from the list that / opens, filtered by letters', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('/')
    await completion(page, 'Heading ##').waitFor()
    await keyboard.type('cal')
    await completion(page, 'Callout > [!note]').waitFor()
    await keyboard.press('Enter')
    await expectText('> [!note] Title\n> ')
    await keyboard.type('Mind')
    await expectText('> [!note] Mind\n> ')
    await keyboard.press('Control+End')
    await keyboard.type('Deep. /tas')
    await completion(page, 'Tasks - [ ]').waitFor()
    await keyboard.press('Tab')
    await expectText('> [!note] Mind\n> - [ ] Deep. ')
  })

  it('keep the cursor and the list clear of each other and of the bars', async () => {
    const phone = await newVisitor({ viewport: { width: 390, height: 700 } })
    const { page, open } = phone
    await signIn(phone)
    const text = 'A line.\n\n'.repeat(40)
    const other = (await made(ann.post('/orgs', { name: 'Other' }))).id
    const { id } = await made(ann.post(`/orgs/${other}/nodes`, { title: 'Lines', text_content: text }))
    await open(`${pageAt(other, id)}/edit`)
    await toolbar(page).waitFor()
    await page.keyboard.press('Control+Home')
    for (let lines = 0; lines < 21; lines++) await page.keyboard.press('ArrowDown')
    await page.keyboard.type('/')
    await completion(page, 'Heading ##').waitFor()
    const boxOf = async (one: Locator) => {
      const { y = 0, height = 0 } = (await one.boundingBox()) ?? {}
      return { top: y, bottom: y + height }
    }
    const line = await boxOf(page.locator('.cm-line', { hasText: /^\/$/ }))
    const list = await boxOf(page.locator('.cm-tooltip-autocomplete'))
    const bar = await boxOf(page.locator('.editor-acts'))
    const tools = await boxOf(toolbar(page))
    const places = JSON.stringify({ line, list, bar, tools })
    expect(line.bottom <= bar.top, places).to.equal(true)
    expect(list.bottom <= line.top + 8 || list.top >= line.bottom - 8, places).to.equal(true)
    expect(list.top >= tools.bottom - 1 && list.bottom <= bar.top + 1, places).to.equal(true)
    await phone.context.close()
  })

  it('leave a / alone within words, paths and code', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    for (const text of ['and/or', ' /usr/bin', ' `/he']) {
      await keyboard.type(text)
      await page.waitForFunction(() => true)
    }
    await keyboard.press('Enter')
    await expectText('and/or /usr/bin `/he\n')
  })

  it('suggest the pages that changed last after [[, and a new page at the end', async () => {
    const { page } = visitor
    const { keyboard } = page
    await begin()
    await keyboard.type('[[')
    await completion(page, 'Squid').waitFor()
    expect(await page.locator('.cm-tooltip-autocomplete').getByRole('option').allTextContents()).to.deep.equal([
      'Squid',
      'Krill',
    ])
    await keyboard.type('kr')
    await completion(page, 'Make “kr” a link to a new page').waitFor()
    expect(await page.locator('.cm-tooltip-autocomplete').getByRole('option').allTextContents()).to.deep.equal([
      'Krill',
      'Make “kr” a link to a new page',
    ])
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await expectText('[[kr]]')
    await keyboard.type(' [[krill')
    await completion(page, 'Krill').waitFor()
    expect(
      await page.locator('.cm-tooltip-autocomplete').getByRole('option').count(),
      'of a title that exists',
    ).to.equal(1)
    await keyboard.press('Enter')
    await expectText('[[kr]] [[Krill]]')
  })

  it('do not suggest the page itself', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org, node)}/edit`)
    await toolbar(page).waitFor()
    await field(page).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' [[')
    await completion(page, 'Krill').waitFor()
    expect(await page.locator('.cm-tooltip-autocomplete').getByRole('option').allTextContents()).to.deep.equal([
      'Krill',
    ])
  })

  it('link selected words to a pasted URL, and paste all else as text', async () => {
    const { page } = visitor
    const paste = (text: string, html?: string) =>
      field(page).evaluate(
        (element, [plain, rich]) => {
          const data = new DataTransfer()
          data.setData('text/plain', plain ?? '')
          if (rich) data.setData('text/html', rich)
          element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
        },
        [text, html],
      )
    for (const [pasted, text] of [
      ['https://example.org/a', '[word](https://example.org/a)'],
      ['javascript:alert(1)', 'javascript:alert(1)'],
      ['https://example.org/)](javascript:alert(1))', 'https://example.org/)](javascript:alert(1))'],
      ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
    ] as const) {
      await begin()
      await page.keyboard.type('word')
      await page.keyboard.press('Control+a')
      await paste(pasted, '<img src=x onerror="document.title=1">')
      await expectText(text)
    }
    expect(await page.locator('.cm-content img').count()).to.equal(0)
    expect(visitor.faults).to.deep.equal([])
  })

  it('find and replace words, also in lines that are not drawn', async () => {
    const { page, open } = visitor
    const { keyboard } = page
    const long = `First.\n${'Filler line.\n'.repeat(2_000)}The whale at the end.\n`
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Long', text_content: long }))
    await open(`${pageAt(org, id)}/edit`)
    await toolbar(page).waitFor()
    await field(page).click()
    await keyboard.press('Control+Home')
    await keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find' }).waitFor()
    await keyboard.type('whale')
    await keyboard.press('Enter')
    await page.locator('.cm-searchMatch-selected', { hasText: 'whale' }).waitFor()
    await expectSound(page)
    await page.getByRole('textbox', { name: 'Replace' }).focus()
    await keyboard.type('squid')
    await keyboard.press('Enter')
    await page.locator('.cm-line', { hasText: 'The squid at the end.' }).waitFor()
    await keyboard.press('Escape')
    await page.getByRole('textbox', { name: 'Find' }).waitFor({ state: 'detached' })
    expect(await inText(page)).to.equal(true)
    expect(await page.getByRole('alert').count(), 'nothing was sent').to.equal(0)
  })

  it('are listed by the key ?', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org, node)}/edit`)
    await toolbar(page).waitFor()
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await dialog.getByText('Escape, then Tab').waitFor()
    expect(await dialog.locator('dt').allTextContents()).to.include.members([
      'Ctrl+S, Ctrl+Enter',
      'Ctrl+B',
      'Ctrl+I',
      'Ctrl+K in the text',
      '[[',
      '/ after a space',
    ])
    await expectSound(page)
  })

  it('are not there without script', async () => {
    const plain = await newVisitor({ javaScriptEnabled: false })
    await signIn(plain)
    await plain.open(`${pageAt(org, node)}/edit`)
    await reached(plain.page, 'Edit Squid')
    expect(await toolbar(plain.page).isVisible()).to.equal(false)
    await plain.context.close()
  })
})

function inText(page: Page): Promise<boolean> {
  return page.evaluate(() => document.activeElement?.classList.contains('cm-host') === true)
}

function focusedName(page: Page): Promise<string | null> {
  return page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? null)
}
