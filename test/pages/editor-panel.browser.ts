/** Tags and properties next to the text: saved in the same commit, with and without script. */

import { expect } from 'chai'
import { idIn } from '../../server/base/page-segments.ts'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, reached, signIn, useScene } from './scene.ts'

const properties = { description: 'Large mammals.', depth: 3, seen: true, since: '2025-07-15', deep: { a: [1] } }

describe('tags and properties in the editor', () => {
  useScene()
  let org: string

  const make = async () => {
    const fields = { title: 'Whales', text_content: 'Whales.\n', tags: ['sea', 'one, two'], properties }
    return (await made(ann.post(`/orgs/${org}/nodes`, fields))).id as string
  }
  const read = (node: string) => made(ann.get(`/orgs/${org}/nodes/${node}`))
  const commits = async (node: string) => (await made(ann.get(`/orgs/${org}/nodes/${node}/tree/main/commits`))).total
  const open = async (visitor: Visitor, path: string) => {
    await visitor.open(path)
    const panel = visitor.page.locator('[data-panel]')
    await visitor.page.locator('summary', { hasText: 'Tags and properties' }).waitFor()
    if (visitor.page.viewportSize()?.width !== 1280 || !visitor.isScripted) await panel.locator('summary').click()
    await visitor.page.getByLabel('Tags', { exact: true }).waitFor()
    return panel
  }
  type Visitor = Awaited<ReturnType<typeof newVisitor>> & { readonly isScripted: boolean }
  const enter = async (isScripted: boolean, width = 1280): Promise<Visitor> => {
    const visitor = {
      ...(await newVisitor({ javaScriptEnabled: isScripted, viewport: { width, height: 800 } })),
      isScripted,
    }
    await signIn(visitor)
    return visitor
  }
  const save = ({ page }: Visitor) => page.getByRole('button', { name: 'Save', exact: true }).click()

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill', tags: ['mammal', 'sea'] }))
  })

  for (const isScripted of [true, false])
    describe(isScripted ? 'with script' : 'without script', () => {
      let visitor: Visitor
      before(async () => {
        visitor = await enter(isScripted)
      })
      after(() => visitor.context.close())

      it('are saved in one commit with the text and the title', async () => {
        const { page } = visitor
        const node = await make()
        const panel = await open(visitor, `${pageAt(org, node)}/edit`)
        const tags = page.getByLabel('Tags', { exact: true })
        expect(await tags.inputValue()).to.equal('sea, "one, two"')
        await tags.fill('#sea, mammal')
        await page.getByLabel('Description', { exact: true }).fill('Very large.')
        const rows = panel.getByRole('listitem')
        await rows.nth(0).getByLabel('Value').fill('4.5')
        const last = rows.last()
        await last.getByLabel('Name').fill('aliases')
        await last.getByLabel('Kind').selectOption('List, one item a line')
        await last.getByLabel('Value').fill('Cetacea\nOrca')
        await page.getByLabel('Title').fill('Great whales')
        await save(visitor)
        await reached(page, 'Great whales')
        const after = await read(node)
        expect(after.tags).to.deep.equal(['sea', 'mammal'])
        expect(after.properties).to.deep.equal({
          ...properties,
          ...{ description: 'Very large.', depth: 4.5, aliases: ['Cetacea', 'Orca'] },
        })
        expect(await commits(node)).to.equal(2)
        expect(visitor.faults).to.deep.equal([])
      })

      it('stay as they are if nobody changes them', async () => {
        const { page } = visitor
        const node = await make()
        await open(visitor, `${pageAt(org, node)}/edit`)
        await made(ann.patch(`/orgs/${org}/nodes/${node}`, { tags: ['by another'] }))
        await page.getByLabel('Title').fill('Great whales')
        await save(visitor)
        // Somebody has changed the page. Its tags are taken over.
        await page.getByRole('heading', { name: 'This page has changed' }).waitFor()
        expect(await page.locator('[name=tags]').inputValue()).to.equal('by another')
        await save(visitor)
        await reached(page, 'Great whales')
        const after = await read(node)
        expect([after.tags, after.properties]).to.deep.equal([['by another'], properties])
      })

      it('say what is wrong, and keep what was typed', async () => {
        const { page } = visitor
        const node = await make()
        const panel = await open(visitor, `${pageAt(org, node)}/edit`)
        await panel.getByRole('listitem').nth(0).getByLabel('Value').fill('deep')
        await save(visitor)
        await page.getByRole('alert').getByText('“depth” must be a number').waitFor()
        const value = page.locator('[name=property-value]').first()
        expect(await value.inputValue()).to.equal('deep')
        if (!isScripted) await page.locator('[data-panel] summary').click()
        await value.fill('5')
        await save(visitor)
        await reached(page, 'Whales')
        expect((await read(node)).properties.depth).to.equal(5)
      })

      it('are given to a new page', async () => {
        const { page } = visitor
        await open(visitor, `${pageAt(org)}/new`)
        await page.getByLabel('Title').fill(isScripted ? 'Orcas' : 'Belugas')
        await page.getByLabel('Tags', { exact: true }).fill('sea')
        await page.getByLabel('Description', { exact: true }).fill('Black and white.')
        await save(visitor)
        await reached(page, isScripted ? 'Orcas' : 'Belugas')
        const node = idIn(new URL(page.url()).pathname.split('/')[3] ?? '') ?? ''
        const { tags, properties: given } = await read(node)
        expect({ tags, given }).to.deep.equal({ tags: ['sea'], given: { description: 'Black and white.' } })
      })
    })

  it('offer the tags of the organisation, after # as well', async () => {
    const visitor = await enter(true)
    const { page } = visitor
    await open(visitor, `${pageAt(org)}/new`)
    const tags = page.getByLabel('Tags', { exact: true })
    const offered = () =>
      page.locator('#known-tags option').evaluateAll((all) => all.map((one) => one.getAttribute('value')))
    for (const [typed, wanted] of [
      ['mam', ['mammal']],
      ['sea, #ma', ['sea, #mammal']],
      ['sea, se', []],
    ] as const) {
      await tags.fill(typed)
      await page.waitForFunction(
        (count) => document.querySelectorAll('#known-tags option').length === count,
        wanted.length,
      )
      expect(await offered()).to.deep.equal(wanted)
    }
    await visitor.context.close()
  })

  it('are part of a draft', async () => {
    const visitor = await enter(true)
    const { page } = visitor
    const node = await make()
    await open(visitor, `${pageAt(org, node)}/edit`)
    await page.getByRole('button', { name: 'Add a property' }).click()
    await page.keyboard.type('weight')
    await page.getByLabel('Tags', { exact: true }).fill('draft')
    await visitor.open('/')
    const panel = await open(visitor, `${pageAt(org, node)}/edit`)
    await page.getByRole('button', { name: 'Restore', exact: true }).click()
    expect(await page.getByLabel('Tags', { exact: true }).inputValue()).to.equal('draft')
    expect(await panel.getByLabel('Name').last().inputValue()).to.equal('weight')
    await visitor.context.close()
  })

  for (const width of [390, 820, 1440])
    for (const colorScheme of ['light', 'dark'] as const)
      it(`are easy to read at ${width} px, ${colorScheme}`, async () => {
        const visitor = { ...(await newVisitor({ colorScheme, viewport: { width, height: 900 } })), isScripted: true }
        await signIn(visitor)
        const node = await make()
        await visitor.open(`${pageAt(org, node)}/edit`)
        await visitor.page.getByRole('toolbar').waitFor()
        if (width < 1100) await visitor.page.locator('[data-panel] summary').click()
        await visitor.page.getByRole('button', { name: 'Add a property' }).waitFor()
        await expectSound(visitor.page)
        await visitor.context.close()
      })
})
