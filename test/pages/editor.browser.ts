/** The editor that scripts make: links complete, files go along, nothing typed is lost, the keyboard is enough. */

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { made, prefixOf } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { ann, completion, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

const text = `# Food

Whales are large mammals.

They live in the sea.

They breathe air.
`

describe('the editor', () => {
  useScene()
  let org: string
  let eve: PersonClient
  let visitor: Visitor

  const whales = async (at = org) =>
    (await made(ann.post(`/orgs/${at}/nodes`, { title: 'Whales', text_content: text }))).id as string
  const read = (node: string) => made(ann.get(`/orgs/${org}/nodes/${node}`))
  const field = (page: Page) => page.locator('.cm-content')
  const edit = async (node: string, { open, page } = visitor) => {
    await open(`${pageAt(org, node)}/edit`)
    await field(page).click()
    await page.keyboard.press('Control+End')
  }
  const press = (name: string, { page } = visitor) => page.getByRole('button', { name, exact: true }).click()

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill', text_content: 'Small.' }))
    eve = await signUp(grove, 'Eve')
    await made(ann.put(`/orgs/${org}/members/${eve.user.email}`, { role: 'editor' }))
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('takes what is typed after a click far below the text', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org)}/new`)
    await page.locator('.cm-editor').click()
    await page.keyboard.type('Here')
    expect(await field(page).textContent()).to.equal('Here')
  })

  it('serves who signs up, makes a node, links it, and finds it by its first letters: with only the keyboard', async () => {
    const newcomer = await newVisitor()
    const { page, open, faults } = newcomer
    const { keyboard } = page
    await open('/sign-up')
    const next = (label: string) => tabTo(page, label)
    await next('E-mail')
    await keyboard.type('nora@example.org')
    await next('Name')
    await keyboard.type('Nora')
    await next('Password')
    await keyboard.type(password)
    await keyboard.press('Enter')
    await page.getByLabel('Signed in as Nora').waitFor()
    for (const [title, body] of [
      ['Krill', 'Small.'],
      ['Whales', 'They eat [[kr'],
    ] as const) {
      const name = title === 'Krill' ? 'Write the first page' : 'New page'
      await page.getByRole('link', { name, exact: true }).waitFor()
      await page.waitForLoadState()
      await keyboard.press('n')
      await reached(page, 'New page')
      await field(page).waitFor()
      // The title has the focus.
      await keyboard.type(title)
      await next('Text')
      await keyboard.type(body)
      if (title === 'Whales') {
        await completion(page, 'Krill').waitFor()
        await keyboard.press('Enter')
        await keyboard.type(' all day.')
      }
      await next('Save')
      await keyboard.press('Enter')
      await reached(page, title)
      if (title === 'Krill') {
        await open(new URL(page.url()).pathname.replace(/\/[^/]*$/, ''))
      }
    }
    expect(await page.locator('.prose').textContent()).to.equal('They eat Krill all day.\n')
    await keyboard.press('/')
    await keyboard.type('wha')
    await page.getByRole('option', { name: 'Whales' }).waitFor()
    await keyboard.press('ArrowDown')
    await keyboard.press('Enter')
    await reached(page, 'Whales')
    await keyboard.press('e')
    await reached(page, 'Edit Whales')
    expect(faults).to.deep.equal([])
    await newcomer.context.close()
  })

  it('proposes as an editor, and the page says in both windows that it was merged', async () => {
    const strict = (await made(ann.post('/orgs', { name: 'Strict', require_pull_requests: true }))).id
    await made(ann.put(`/orgs/${strict}/members/${eve.user.email}`, { role: 'editor' }))
    const node = await whales(strict)
    const editor = await newVisitor()
    await signIn(editor, eve)
    await editor.open(pageAt(strict, node))
    await editor.page.keyboard.press('e')
    await field(editor.page).waitFor()
    expect(await editor.page.locator('.editor-acts button').allTextContents()).to.deep.equal(['Propose changes'])
    await field(editor.page).press('Control+End')
    await editor.page.keyboard.type('They sing.')
    await tabTo(editor.page, 'Propose changes')
    await editor.page.keyboard.press('Enter')
    await reached(editor.page, 'Edit Whales #1')
    expect(await editor.page.getByRole('button', { name: 'Merge', exact: true }).count()).to.equal(0)
    const { page } = visitor
    await visitor.open(new URL(editor.page.url()).pathname)
    await tabTo(page, 'Merge')
    await page.keyboard.press('Enter')
    for (const { page: window } of [visitor, editor]) {
      if (window !== page) await window.reload()
      await window.getByRole('heading', { name: 'Merged' }).waitFor()
      expect(await window.locator('.merge').textContent()).to.include('Merged by Ann.')
    }
    await editor.context.close()
  })

  it('proposes for a contributor, from a branch of their own', async () => {
    const cora = await signUp(grove, 'Cora')
    await made(ann.put(`/orgs/${org}/members/${cora.user.email}`, { role: 'contributor' }))
    const node = await whales()
    const contributor = await newVisitor()
    const { page } = contributor
    await signIn(contributor, cora)
    await contributor.open(pageAt(org, node))
    await page.getByRole('link', { name: 'Propose a change' }).click()
    await field(page).press('Control+End')
    await page.keyboard.type('They sing.')
    await page.keyboard.press('Control+s')
    await reached(page, 'Edit Whales #1')
    const { pr } = await made(ann.get(`/orgs/${org}/nodes/${node}/pull-requests/1`))
    expect(pr.source_branch.startsWith(`${prefixOf(cora)}proposals/whales-`), pr.source_branch).to.equal(true)
    expect(await page.locator('.merge button').allTextContents()).to.deep.equal(['Ask', 'Close'])
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('heading', { name: 'Closed' }).waitFor()
    await contributor.context.close()
  })

  it('proposes from where it began, although main has moved: the proposal is updated from main', async () => {
    const node = await whales()
    await edit(node)
    await visitor.page.keyboard.type('They sing.')
    await made(ann.patch(`/orgs/${org}/nodes/${node}`, { title: 'Cetacea' }))
    await press('Propose changes')
    await visitor.page.getByRole('heading', { name: 'The page has changed since' }).waitFor()
    await press('Update')
    await visitor.page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
  })

  it('takes over what others wrote meanwhile, loses no letter, and sends again', async () => {
    const { page } = visitor
    const node = await whales()
    await edit(node)
    await page.keyboard.type('They sing.')
    await made(ann.patch(`/orgs/${org}/nodes/${node}`, { text_content: text.replace('large', 'vast') }))
    await page.keyboard.press('Control+s')
    await page.getByRole('heading', { name: 'This page has changed since you opened it' }).waitFor()
    expect(await focused(page)).to.equal('This page has changed since you opened it')
    expect(await field(page).textContent())
      .to.include('vast mammals')
      .and.include('They sing.')
    await made(ann.patch(`/orgs/${org}/nodes/${node}`, { text_content: `${text}They swim.` }))
    await press('Save')
    await page.getByText('The changes overlap').waitFor()
    expect(await field(page).textContent()).to.include('They sing.')
    await press('Save')
    await reached(visitor.page, 'Whales')
    expect((await read(node)).text_content)
      .to.include('vast')
      .and.include('They sing.')
  })

  it('keeps what was not saved, and offers it back', async () => {
    const { page, open, context } = visitor
    const node = await whales()
    await edit(node)
    await page.keyboard.type('Not saved.')
    await open('/')
    await open(`${pageAt(org, node)}/edit`)
    await press('Restore')
    expect(await field(page).textContent()).to.include('Not saved.')
    await context.setOffline(true)
    await press('Save')
    await page.getByText('The service does not respond').waitFor()
    expect(await field(page).textContent()).to.include('Not saved.')
    await context.setOffline(false)
    await press('Save')
    await reached(visitor.page, 'Whales')
    expect((await read(node)).text_content).to.equal(`${text}Not saved.`)
    await open(`${pageAt(org, node)}/edit`)
    await field(page).waitFor()
    expect(await page.getByRole('button', { name: 'Restore' }).count()).to.equal(0)
  })

  for (const label of ['Title', 'Summary'])
    it(`saves by Ctrl+S from the field ${label}`, async () => {
      const { page } = visitor
      const node = await whales()
      await edit(node)
      await page.keyboard.type('They sing.')
      await page.getByLabel(label).press('Control+s')
      await reached(page, 'Whales')
      expect((await read(node)).text_content).to.equal(`${text}They sing.`)
    })

  it('sends once while a request is under way, by clicks and by keys', async () => {
    const { page, context } = visitor
    const node = await whales()
    await edit(node)
    await page.keyboard.type('They sing.')
    const sent: string[] = []
    let proceed = () => {}
    const released = new Promise<void>((resolve) => {
      proceed = resolve
    })
    await context.route('**/branches', async (route) => {
      sent.push(route.request().method())
      await released
      await route.continue()
    })
    const propose = page.getByRole('button', { name: 'Propose changes' })
    // Not a click that waits until the button is enabled again.
    await propose.evaluate((button: HTMLElement) => [button.click(), button.click()])
    await page.getByLabel('Title').press('Control+s')
    await propose.click({ force: true })
    proceed()
    await reached(page, 'Edit Whales #1')
    await context.unroute('**/branches')
    expect(sent).to.deep.equal(['POST'])
    expect((await made(ann.get(`/orgs/${org}/nodes/${node}/pull-requests?status=all`))).total).to.equal(1)
    expect((await read(node)).text_content).to.equal(text)
  })

  it('says each refusal and keeps the text', async () => {
    const { page, context } = visitor
    const node = await whales()
    await edit(node)
    await page.keyboard.type('Kept.')
    const answers = [
      [401, 'unauthenticated', 'Your session has ended'],
      [413, 'too_large', 'Your text is still here'],
      [422, 'invalid', 'Your text is still here'],
      [503, 'busy', 'Not saved yet'],
    ] as const
    for (const [status, code, said] of answers) {
      const headers = { 'retry-after': '60' }
      await context.route('**/commits', (route) =>
        route.fulfill({ status, headers, contentType: 'application/json', body: `{"code":"${code}","detail":"No"}` }),
      )
      await press('Save')
      await page.getByRole('alert').getByText(said).waitFor()
      expect(await field(page).textContent()).to.include('Kept.')
      await context.unroute('**/commits')
    }
    await press('Save')
    await reached(visitor.page, 'Whales')
  })

  it('takes a file that is pasted along with the text', async () => {
    const { page } = visitor
    const node = await whales()
    await edit(node)
    await field(page).evaluate((element) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array([1, 2, 255])], 'a whale.png', { type: 'image/png' }))
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
    })
    await page.getByText('a-whale.png will be uploaded').waitFor()
    await press('Save')
    await reached(visitor.page, 'Whales')
    expect((await read(node)).text_content).to.equal(`${text}![a whale.png](files/a-whale.png)`)
    const file = await made(ann.get(`/orgs/${org}/nodes/${node}/tree/main/files/files%2Fa-whale.png`))
    expect(file).to.deep.include({ content: 'AQL/', encoding: 'base64' })
  })

  it('shows the text as its page will', async () => {
    const { page } = visitor
    const node = await whales()
    await edit(node)
    await page.keyboard.type('They eat [[Krill]] &amp; [[Kraken]] &copy; &copycat;.\n\n> [!tip] Remember\n> All.')
    await press('Preview')
    const preview = page.getByRole('tabpanel', { name: 'Preview' })
    await preview.locator('.callout').waitFor()
    expect(await preview.getByRole('link', { name: 'Krill' }).getAttribute('href')).to.match(/\/krill-\w{22}$/)
    expect(await preview.textContent()).to.include('Krill & Kraken © &copycat;.')
    await page.keyboard.press('Escape')
    await press('Save')
    await reached(visitor.page, 'Whales')
    expect(await page.locator('.prose p').last().textContent()).to.equal('All.')
  })

  it('is sound in light and dark, on a telephone and on a desk', async () => {
    const node = await whales()
    for (const colorScheme of ['light', 'dark'] as const) {
      const writer = await newVisitor({ colorScheme })
      await signIn(writer)
      for (const width of [390, 1440]) {
        await writer.page.setViewportSize({ width, height: 900 })
        await edit(node, writer)
        await writer.page.keyboard.type('They eat [[Kri')
        await completion(writer.page, 'Krill').waitFor()
        await writer.page.keyboard.press('Enter')
        await writer.page.getByRole(width < 1100 ? 'tab' : 'button', { name: 'Preview' }).click()
        await writer.page.locator('[data-preview] h2').waitFor()
        await expectSound(writer.page)
        await made(ann.patch(`/orgs/${org}/nodes/${node}`, { text_content: `${text}${width} ${colorScheme}` }))
        await press('Save', writer)
        await writer.page.locator('#ways').waitFor()
        await expectSound(writer.page)
        await writer.open(`${pageAt(org)}/new`)
        await field(writer.page).waitFor()
        await expectSound(writer.page)
      }
      expect(writer.faults).to.deep.equal([])
      await writer.context.close()
    }
  })
})

/** By the keyboard alone. */
async function tabTo(page: Page, label: string): Promise<void> {
  for (let tabs = 0; tabs < 40; tabs++) {
    await page.keyboard.press('Tab')
    if ((await focused(page)).endsWith(label)) return
  }
  throw new Error(`No Tab leads to ${label}`)
}

/** The name of what has the focus, also within a shadow root. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    let element = document.activeElement
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
    const named = element?.getAttribute('aria-labelledby')
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.firstChild?.textContent : undefined
    const other = named ? document.getElementById(named)?.textContent : element?.textContent
    return (element?.getAttribute('aria-label') ?? label ?? other ?? '').trim()
  })
}
