/** Suggestions on the page of a proposal in a browser: selected words, a preview, drafts and several at once. */

import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

describe('suggestions in a browser', () => {
  useScene()
  let visitor: Visitor

  before(async () => {
    visitor = await newVisitor()
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  async function aProposal() {
    const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    await node.branch('draft')
    const head = await node.commit('draft', { 'content.md': 'Whales sing.\n\nThey eat krill, and some fish.\n' })
    const { number } = await node.open('draft')
    const api = `${node.at}/pull-requests/${number}`
    const comments = async () =>
      (await ann.get(`${api}/threads`).then(expecting(200))).body.threads.map(
        ({ comments: [first] }: { comments: unknown[] }) => first,
      )
    const proposed = () => node.git.run(['show', 'draft:content.md']).toString()
    return { head, page: `${pageAt(node.org, node.id)}/proposals/${number}`, comments, proposed }
  }

  /** Selects words of a line, as a pointer does. */
  const select = (words: string) =>
    visitor.page.evaluate((sought) => {
      const walker = document.createTreeWalker(document.querySelector('.diff') ?? document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent?.indexOf(sought) ?? -1
        if (at >= 0) getSelection()?.setBaseAndExtent(node, at, node, at + sought.length)
      }
    }, words)

  const suggestedField = () => visitor.page.locator('.diff form textarea[name="suggestion"]:enabled')

  it('begin with the selected words, show a preview, survive a reload, and are applied', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await open(shown.page)
    await page.locator('form[data-review] button').waitFor()
    await select('krill, and some fish')
    await page.locator('.offer').getByRole('button', { name: 'Suggest' }).click()
    await suggestedField().waitFor()
    expect(await suggestedField().inputValue()).to.equal('krill, and some fish')
    expect(await page.locator('.suggested').isHidden(), 'nothing differs').to.equal(true)
    await suggestedField().fill('krill almost only')
    await page.locator('.suggested ins').first().waitFor()
    expect(await page.locator('.suggested del').first().textContent()).to.equal(', and some fish')
    await expectSound(page)
    await page.reload()
    await page.locator('.diff form .suggested ins').first().waitFor()
    expect(await suggestedField().inputValue()).to.equal('krill almost only')
    await page.getByRole('button', { name: 'Suggest', exact: true }).click()
    await page.locator('.suggestion').waitFor()
    await page.waitForLoadState()
    expect(await page.locator('.diff form textarea[name="suggestion"]').count(), 'the draft is gone').to.equal(0)
    const [comment] = await shown.comments()
    expect(comment).to.deep.include({ suggestion: 'krill almost only', text: '' })
    expect(comment.anchor.quote.exact).to.equal('krill, and some fish')
    await page.getByRole('button', { name: 'Apply suggestion 1' }).click()
    await page.getByText('Applied in').first().waitFor({ state: 'attached' })
    expect(shown.proposed()).to.equal('Whales sing.\n\nThey eat krill almost only.\n')
    expect(visitor.faults).to.deep.equal([])
  })

  it('are written by keyboard, collected in a review, and applied together', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await open(shown.page)
    await page.locator('form[data-review] button').waitFor()
    await page.getByRole('link', { name: 'Comment on line 3' }).focus()
    await page.keyboard.press('s')
    await page.locator('textarea[name="suggestion"]:focus').waitFor()
    expect(await suggestedField().inputValue()).to.equal('They eat krill, and some fish.')
    await suggestedField().fill('They eat krill.')
    await page.getByRole('button', { name: 'Start review' }).click()
    await page.locator('.pending', { hasText: 'Suggestion: They eat krill.' }).waitFor()
    await page.getByRole('link', { name: 'Comment on line 1' }).last().click()
    await page.getByRole('link', { name: 'Suggest instead' }).click()
    await suggestedField().fill('Whales sang.')
    await page.getByRole('button', { name: 'Add to review' }).click()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.locator('.review').waitFor()
    await page.waitForLoadState()
    expect((await shown.comments()).map(({ suggestion }: { suggestion: string }) => suggestion)).to.deep.equal([
      'They eat krill.',
      'Whales sang.',
    ])
    for (const box of await page.locator('#suggestions input[type="checkbox"]').all()) await box.check()
    await page.getByRole('button', { name: 'Apply selected' }).click()
    await page.getByText('Applied in').first().waitFor({ state: 'attached' })
    expect(shown.proposed()).to.equal('Whales sang.\n\nThey eat krill.\n')
    expect(visitor.faults).to.deep.equal([])
  })

  it('are not offered for removed lines', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await open(shown.page)
    await page.locator('form[data-review] button').waitFor()
    await page.locator('.row.del a.ln').first().click()
    await page.locator('.diff form textarea[name="text"]').waitFor()
    expect(await page.getByRole('link', { name: 'Suggest instead' }).count()).to.equal(0)
    await page.locator('.row.del a.ln').first().focus()
    await page.keyboard.press('s')
    expect(await suggestedField().count()).to.equal(0)
  })
})
