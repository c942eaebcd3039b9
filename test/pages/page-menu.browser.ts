/** The menu of a page, its settings and its trash in a browser: by keyboard, and without script. */

import { expect } from 'chai'
import { newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('the menu of a page', () => {
  useScene()

  it('opens by keyboard, closes with Escape or a click elsewhere, and copies the link', async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales are large.\n' })
    const visitor = await newVisitor({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page, open, faults } = visitor
    await signIn(visitor)
    await open(pageAt(node.org, node.id))
    await reached(page, 'Whales')
    const [summary, tags] = [page.getByLabel('More actions'), page.getByRole('link', { name: 'Tags', exact: true })]
    await summary.focus()
    await page.keyboard.press('Enter')
    await tags.waitFor()
    await expectSound(page)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Rename')
    await page.keyboard.press('Escape')
    await tags.waitFor({ state: 'hidden' })
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).to.equal('More actions')
    await summary.click()
    await page.getByRole('heading', { level: 1 }).click()
    await tags.waitFor({ state: 'hidden' })
    await summary.click()
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(
      `${grove.url}${pageAt((await ann.get(`/orgs/${node.org}`)).body, { id: node.id, title: 'Whales' })}`,
    )
    await tags.click()
    await reached(page, 'Settings of Whales')
    expect(new URL(page.url()).hash).to.equal('#tags')
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('moves a page by search, changes its tags and files, deletes it and undoes that, without script', async () => {
    const [sea, node] = [await newNode(grove, ann, { title: 'Sea' }), await newNode(grove, ann, { title: 'Orca' })]
    const visitor = await newVisitor({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
    const { page, open, faults } = visitor
    await signIn(visitor)
    await open(pageAt(node.org, node.id))
    await page.getByLabel('More actions').click()
    await page.getByRole('link', { name: 'Move', exact: true }).click()
    await page.getByLabel('Find a new parent').fill('sea')
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('radio', { name: 'Sea' }).check()
    await page.getByRole('button', { name: 'Move', exact: true }).click()
    await page.locator('#move').getByText('Saved.').waitFor()
    expect((await ann.get(node.at)).body.parents[0].id).to.equal(sea.id)
    await page.getByLabel('New tag').first().fill('whale')
    await page.getByRole('button', { name: 'Save tags' }).click()
    await page.locator('#tags').getByText('Saved.').waitFor()
    await page
      .getByLabel('Add files')
      .setInputFiles({ name: 'song.txt', mimeType: 'text/plain', buffer: Buffer.from('La') })
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByRole('link', { name: 'files/song.txt' }).waitFor()
    expect(node.git.say('show', 'main:files/song.txt')).to.equal('La')
    await page.getByRole('button', { name: 'Delete this page', exact: true }).click()
    await reached(page, 'Trash')
    await page.getByRole('button', { name: 'Undo: Orca' }).click()
    await reached(page, 'Orca')
    expect((await ann.get(node.at)).body.tags).to.deep.equal(['whale'])
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })
})
