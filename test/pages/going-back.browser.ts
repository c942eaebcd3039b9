/** Restoring a version and undoing a proposal in a browser without script, on a telephone and on a desk. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('going back in a browser', () => {
  useScene()
  let visitor: Visitor
  let node: TestNode
  let at: string

  before(async () => {
    const gone = await newNode(grove, ann, { title: 'Krill' })
    node = await newNode(grove, ann, { text_content: 'Whales are large.\n' })
    at = pageAt(node.org, node.id)
    const edge = JSON.stringify({ target: gone.id })
    await node.commit('main', { 'content.md': 'Whales are huge.\n', 'connections/eats.json': edge }, 'Say huge')
    await node.commit('main', { 'connections/eats.json': null }, 'Say less')
    await ann.delete(gone.at).then(expecting(204))
    visitor = await newVisitor({ javaScriptEnabled: false })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  /** The page that a visitor with script sees after `act`, in both widths and colours. */
  const expectAllSound = async (path: string, act?: string) => {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [390, 1440]) {
        const other = await newVisitor({ colorScheme, viewport: { width, height: 900 } })
        await signIn(other)
        await other.open(path)
        if (act !== undefined) {
          await other.page.getByRole('button', { name: act }).click()
          await other.page.getByRole('alert').waitFor()
        }
        await expectSound(other.page)
        expect(other.faults).to.deep.equal([])
        await other.context.close()
      }
  }

  it('leads from the history over the change to the restored version', async () => {
    const { page, open, faults } = visitor
    await open(`${at}/history`)
    await page.getByRole('link', { name: 'Restore this version: Create node' }).click()
    await reached(page, 'Restore this version')
    expect(await page.locator('.diff del').allTextContents()).to.deep.equal(['huge'])
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['large'])
    await page.getByRole('button', { name: 'Restore now' }).click()
    await reached(page, 'Whales')
    expect(await page.locator('.prose').textContent()).to.include('Whales are large.')
    expect(faults).to.deep.equal([])
  })

  it('says on a sound page why a version cannot be restored', async () => {
    const { page, open } = visitor
    await open(`${at}/history`)
    await page.getByRole('link', { name: 'Restore this version: Say huge' }).click()
    const path = new URL(page.url()).pathname
    await page.getByRole('button', { name: 'Restore now' }).click()
    expect(await page.getByRole('alert').textContent()).to.include('connections/eats.json')
    await expectAllSound(path, 'Restore now')
  })

  it('opens the proposal that undoes a merged one, and merges it', async () => {
    const { page, open, faults } = visitor
    await node.proposal('draft')
    await node.open('draft')
    await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    await open(`${at}/proposals/1`)
    await page.getByRole('button', { name: 'Undo' }).click()
    await reached(page, 'Undo: Merge draft #2')
    await page.getByRole('link', { name: 'proposal 1' }).click()
    await reached(page, 'Merge draft #1')
    await page.getByRole('button', { name: 'Undo' }).click()
    await reached(page, 'Undo: Merge draft #2')
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
    expect(node.git.lines('ls-tree', '--name-only', 'main')).to.not.include('draft.txt')
    expect(faults).to.deep.equal([])
  })

  it('says on a sound page why a proposal cannot be undone', async () => {
    await node.commit('main', { 'draft.txt': 'another\n' })
    await expectAllSound(`${at}/proposals/1`, 'Undo')
  })
})
