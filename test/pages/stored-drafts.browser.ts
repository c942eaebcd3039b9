/** Drafts on the server: what is typed survives the browser, and is continued in another one. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { until } from '../support/until.ts'
import { ann, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('drafts on the server', () => {
  useScene()
  let org: string
  const visitors: Visitor[] = []

  const someone = async (options: Parameters<typeof newVisitor>[0] = {}) => {
    const visitor = await newVisitor(options)
    visitors.push(visitor)
    await signIn(visitor)
    return visitor
  }
  const make = async (title: string) =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content: `${title}.\n` }))).id as string
  const edit = async ({ open, page }: Visitor, path: string) => {
    await open(path)
    await page.getByRole('toolbar').waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
  }
  const drafts = async () => (await made(ann.get(`/orgs/${org}/drafts`))).drafts
  const untilCopied = (title: string, text: string) =>
    until(async () => {
      for (const { id, title: found } of await drafts()) {
        const draft = await made(ann.get(`/orgs/${org}/drafts/${id}`))
        if (found === title && draft.text_content.includes(text)) return true
      }
      return false
    })
  const text = ({ page }: Visitor) => page.locator('.cm-content').innerText()

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })
  afterEach(async () => {
    for (const { context } of visitors.splice(0)) await context.close()
    for (const { id } of await drafts()) await ann.delete(`/orgs/${org}/drafts/${id}`)
  })

  it('are continued in another browser from the home page, and end when they are saved', async () => {
    const node = await make('Whales')
    const first = await someone()
    await edit(first, `${pageAt(org, node)}/edit`)
    await first.page.keyboard.type('They sing.')
    await first.page.getByLabel('Tags', { exact: true }).fill('sea')
    await untilCopied('Whales', 'They sing.')
    await first.page.getByText(/^Draft kept, \d\d:\d\d$/).waitFor()
    await first.context.close()
    const second = await someone()
    await second.open('/')
    await second.page.getByText('Your draft of').getByRole('link', { name: 'Whales' }).click()
    await second.page.getByRole('toolbar').waitFor()
    expect(await text(second)).to.include('They sing.')
    expect(await second.page.getByLabel('Tags', { exact: true }).inputValue()).to.equal('sea')
    await second.page.getByRole('button', { name: 'Save', exact: true }).click()
    await reached(second.page, 'Whales')
    const after = await made(ann.get(`/orgs/${org}/nodes/${node}`))
    expect(after).to.deep.include({ text_content: 'Whales.\nThey sing.', tags: ['sea'] })
    expect(await drafts()).to.deep.equal([])
    expect([...first.faults, ...second.faults]).to.deep.equal([])
  })

  it('are offered by the editor of the page, and of a new page keep its place', async () => {
    const node = await make('Seals')
    const first = await someone()
    await edit(first, `${pageAt(org, node)}/edit`)
    await first.page.keyboard.type('They bark.')
    await untilCopied('Seals', 'They bark.')
    await edit(first, `${pageAt(org)}/new?parent=${node}`)
    await first.page.getByLabel('Title').fill('Sea lions')
    await first.page.locator('.cm-content').click()
    await first.page.keyboard.type('Louder.')
    await untilCopied('Sea lions', 'Louder.')
    await first.context.close()
    const second = await someone()
    await edit(second, `${pageAt(org, node)}/edit`)
    await second.page.getByText('You have an unsaved draft').waitFor()
    await second.page.getByRole('button', { name: 'Restore' }).click()
    await second.page.waitForURL(/draft=/)
    await second.page.getByRole('toolbar').waitFor()
    expect(await text(second)).to.include('They bark.')
    await second.open('/me/drafts')
    await second.page.getByRole('link', { name: 'Sea lions' }).click()
    await second.page.getByRole('toolbar').waitFor()
    await second.page.getByRole('button', { name: 'Save', exact: true }).click()
    await reached(second.page, 'Sea lions')
    const { nodes } = await made(ann.get(`/orgs/${org}/nodes?limit=200`))
    const lions = nodes.find(({ title }: { title: string }) => title === 'Sea lions')
    const { parents, text_content } = await made(ann.get(`/orgs/${org}/nodes/${lions.id}`))
    expect([text_content, parents.map(({ id }: { id: string }) => id)]).to.deep.equal(['Louder.', [node]])
    expect((await drafts()).map(({ title }: { title: string }) => title)).to.deep.equal(['Seals'])
  })

  it('are continued and discarded without script', async () => {
    const node = await make('Krill')
    const body = { node_id: node, head: null, title: 'Krill', text_content: 'Tiny.\n', expected_version: null }
    const { head } = await made(ann.get(`/orgs/${org}/nodes/${node}`))
    const [kept, gone] = [crypto.randomUUID(), crypto.randomUUID()]
    await made(ann.put(`/orgs/${org}/drafts/${kept}`, { ...body, head }))
    await made(ann.put(`/orgs/${org}/drafts/${gone}`, { ...body, head, title: 'Gone' }))
    const { open, page } = await someone({ javaScriptEnabled: false })
    await open('/me/drafts')
    await page.getByRole('listitem').filter({ hasText: 'Gone' }).getByRole('button', { name: 'Discard' }).click()
    await page.getByText('The draft is discarded.').waitFor()
    await page.getByRole('link', { name: 'Krill' }).click()
    expect(await page.getByLabel('Text', { exact: true }).inputValue()).to.equal('Tiny.\n')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await reached(page, 'Krill')
    expect((await made(ann.get(`/orgs/${org}/nodes/${node}`))).text_content).to.equal('Tiny.\n')
    expect(await drafts()).to.deep.equal([])
  })

  it('of a page that was deleted show their text, also a long one', async () => {
    const node = await make('Squids')
    const visitor = await someone()
    await edit(visitor, `${pageAt(org, node)}/edit`)
    await visitor.page.keyboard.insertText('鯨'.repeat(25_000))
    await untilCopied('Squids', '鯨'.repeat(25_000))
    await ann.delete(`/orgs/${org}/nodes/${node}`)
    await visitor.open('/me/drafts')
    await visitor.page.getByRole('link', { name: 'Show the text' }).click()
    const shown = visitor.page.getByLabel('Text of the draft Squids')
    expect(await shown.inputValue()).to.include('鯨'.repeat(25_000))
  })

  it('of a new page end when the draft in this browser is saved', async () => {
    const visitor = await someone()
    await edit(visitor, `${pageAt(org)}/new`)
    await visitor.page.getByLabel('Title').fill('Clams')
    await untilCopied('Clams', '')
    await edit(visitor, `${pageAt(org)}/new`)
    await visitor.page.getByRole('button', { name: 'Restore' }).click()
    await visitor.page.getByRole('button', { name: 'Save', exact: true }).click()
    await reached(visitor.page, 'Clams')
    expect(await drafts()).to.deep.equal([])
  })

  it('of two windows are two, and one that meets a fault is copied later', async () => {
    const node = await make('Cods')
    const [one, other] = [await someone(), await someone()]
    for (const [visitor, words] of [
      [one, 'One.'],
      [other, 'Other.'],
    ] as const) {
      await edit(visitor, `${pageAt(org, node)}/edit`)
      await visitor.page.keyboard.type(words)
      await untilCopied('Cods', words)
    }
    expect(await drafts()).to.have.length(2)
    await one.context.setOffline(true)
    await one.page.keyboard.type(' More.')
    await one.page.getByText('Draft kept in this browser only').waitFor()
    await one.context.setOffline(false)
    await untilCopied('Cods', 'One. More.')
    expect(await drafts()).to.have.length(2)
  })
})
