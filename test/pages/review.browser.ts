/** The conversation of a proposal in a browser: by keyboard, with selections, drafts and collected reviews. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

const texts = {
  before: '# Whales\n\nWhales are large mammals.\n\nThey breathe air.\n',
  after:
    '# Whales\n\nWhales are huge mammals that live in the sea.\n\nThey breathe air.\n\nThey eat krill, and some fish.\n',
}

describe('the conversation of a proposal in a browser', () => {
  useScene()
  let bob: PersonClient
  let visitor: Visitor

  before(async () => {
    bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
    visitor = await newVisitor()
    await signIn(visitor, bob)
  })
  after(() => visitor.context.close())

  interface Shown {
    readonly node: TestNode
    /** The paths of the page and of the pull request. */
    readonly page: string
    readonly api: string
    readonly head: string
  }

  async function aProposal(): Promise<Shown> {
    const node = await newNode(grove, ann, { text_content: texts.before })
    await node.branch('draft')
    const head = await node.commit('draft', { 'content.md': texts.after })
    const { number } = await node.open('draft', { title: 'Say more', description: 'For **readers**.' })
    return {
      node,
      head,
      page: `${pageAt(node.org, node.id)}/proposals/${number}`,
      api: `${node.at}/pull-requests/${number}`,
    }
  }

  const threadsOf = async ({ api }: Shown) => (await ann.get(`${api}/threads`).then(expecting(200))).body.threads

  /** Selects words of a line, as a pointer does. */
  const select = (words: string) =>
    visitor.page.evaluate((sought) => {
      const walker = document.createTreeWalker(document.querySelector('.diff') ?? document.body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent?.indexOf(sought) ?? -1
        if (at >= 0) getSelection()?.setBaseAndExtent(node, at, node, at + sought.length)
      }
    }, words)

  it('shows the checks of the head, also after its script has run', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    const url = 'https://ci.example.org/7'
    const states = { links: { state: 'failure', url }, spelling: { state: 'pending' }, build: { state: 'success' } }
    for (const [name, body] of Object.entries(states))
      await bob.put(`${shown.node.at}/checks/${shown.head}/${name}`, body).then(expecting(200))
    await open(shown.page)
    await page.locator('form[data-review] button').waitFor()
    const box = page.getByRole('heading', { name: 'Checks' }).locator('..')
    const items = (await box.locator('li > div').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
    expect(items.map((text) => text.split(' Bob')[0])).to.deep.equal([
      ...['links failed', 'spelling is running', 'build passed'],
    ])
    expect(await box.getByRole('link', { name: 'links' }).getAttribute('href')).to.equal(url)
  })

  it('takes a comment on selected words, with a quote', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await open(shown.page)
    await page.locator('form[data-review] button').waitFor()
    await select('some fish')
    await page.locator('.offer').click()
    const field = page.locator('.diff form textarea[name="text"]')
    await field.fill('This needs a source.')
    expect(await page.locator('.diff form blockquote').textContent()).to.equal('some fish')
    await page.getByRole('button', { name: 'Comment', exact: true }).first().click()
    await page.locator('.thread', { hasText: 'This needs a source.' }).waitFor()
    const [thread] = await threadsOf(shown)
    expect(thread.comments[0].anchor).to.deep.equal({
      ...{ commit: shown.head, path: 'content.md', first_line: 7, num_lines: 1 },
      quote: { exact: 'some fish', prefix: 'They eat krill, and ', suffix: '.' },
    })
    expect(page.url()).to.not.include('sent=')
    expect(visitor.faults).to.deep.equal([])
  })

  it('works with only the keyboard: comment, answer, next and previous thread, resolve, verdict', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    const anchor = (first_line: number) => ({ commit: shown.head, path: 'content.md', first_line })
    for (const line of [3, 5])
      await ann.post(`${shown.api}/comments`, { text: `On ${line}.`, anchor: anchor(line) }).then(expecting(201))
    await open(shown.page)
    await page.getByRole('link', { name: 'Comment on line 7' }).focus()
    await page.keyboard.press('c')
    await page.locator('.diff form textarea:focus').waitFor()
    await page.keyboard.type('By keyboard.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.thread', { hasText: 'By keyboard.' }).waitFor()
    await page.waitForLoadState()
    for (const [key, id] of [
      ['.', 't1'],
      ['.', 't2'],
      ['.', 't3'],
      ['.', 't3'],
      [',', 't2'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator(`#${id}:focus`).waitFor()
    }
    await page.keyboard.press('c')
    await page.locator('#t2 textarea:focus').waitFor()
    await page.keyboard.type('An answer.')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('#t2', { hasText: 'An answer.' }).waitFor()
    await page.waitForLoadState()
    await page.keyboard.press('.')
    await page.locator('#t1:focus').waitFor()
    await page.keyboard.press('x')
    await page.locator('#t1.resolved').waitFor()
    await page.waitForLoadState()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next open thread').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('v')
    await page.locator('form[data-review] input:focus').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Well done.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.review.approve').waitFor()
    const { pr } = (await ann.get(shown.api)).body
    expect(pr).to.deep.include({ comments: 4, open_threads: 2 })
    expect(pr.consent.approvals).to.equal(1)
  })

  it('collects comments into a review, which survives a reload and is submitted at once', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await open(shown.page)
    await page.getByRole('link', { name: 'Comment on line 3' }).last().click()
    await page.locator('.diff form textarea[name="text"]').fill('How huge?')
    await page.getByRole('button', { name: 'Start review' }).click()
    await page.getByRole('link', { name: 'Comment on line 7' }).click()
    await page.locator('.diff form textarea[name="text"]').fill('Which fish?')
    await page.getByRole('button', { name: 'Add to review' }).click()
    await page.reload()
    await page.getByText('2 comments in this review').waitFor()
    expect(await page.locator('.pending').count()).to.equal(2)
    expect(await threadsOf(shown)).to.deep.equal([])
    await page.getByLabel('Ask for changes').check()
    await page.locator('form[data-review] textarea').fill('Two questions.')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.locator('.review.request_changes').waitFor()
    const { reviews } = (await ann.get(`${shown.api}/reviews`).then(expecting(200))).body
    expect(reviews.map((one: { comments: number[] }) => one.comments)).to.deep.equal([[1, 2]])
    const threads = await threadsOf(shown)
    expect(threads.map((one: { place: { first_line: number } }) => one.place.first_line)).to.deep.equal([3, 7])
    await open(shown.page)
    await page.locator('.thread').first().waitFor()
    expect(await page.locator('.pending').count()).to.equal(0)
  })

  it('keeps drafts over a reload, and a refused review with its comments', async () => {
    const { page, open } = visitor
    const shown = await aProposal()
    await ann.post(`${shown.api}/comments`, { text: 'Well?' }).then(expecting(201))
    await open(shown.page)
    await page.getByRole('link', { name: 'Comment on line 7' }).click()
    await page.locator('.diff form textarea[name="text"]').fill('Half a thou')
    await page.locator('form[data-review] textarea').fill('Half a verdict')
    await page.reload()
    await page.locator('.diff form textarea[name="text"]').waitFor()
    expect(await page.locator('.diff form textarea[name="text"]').inputValue()).to.equal('Half a thou')
    expect(await page.locator('form[data-review] textarea').inputValue()).to.equal('Half a verdict')
    await page.getByRole('button', { name: 'Start review' }).click()
    await shown.node.commit('draft', { 'content.md': `${texts.after}\nMore.\n` })
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Your text').inputValue()).to.equal('Half a verdict')
    await page.locator('#refused').getByRole('button', { name: 'Submit' }).click()
    await page.locator('.review.comment').waitFor()
    expect(
      (await threadsOf(shown)).map((one: { comments: { text: string }[] }) => one.comments[0]?.text),
    ).to.deep.equal(['Well?', 'Half a thou'])
    await open(shown.page)
    await page.locator('form[data-review]').waitFor()
    expect(await page.locator('form[data-review] textarea').inputValue()).to.equal('')
  })

  it('is sound in light and dark, on a telephone and on a desk', async () => {
    const shown = await everything(bob, await aProposal())
    for (const colorScheme of ['light', 'dark'] as const) {
      const reader = await newVisitor({ colorScheme })
      await signIn(reader)
      for (const width of [390, 1440]) {
        await reader.page.setViewportSize({ width, height: 900 })
        for (const query of [
          '',
          '?tab=conversation',
          '?tab=commits',
          `?since=${shown.head}`,
          '?at=content.md:7#new',
          '?edit=1',
        ]) {
          await reader.open(shown.page + query)
          await expectSound(reader.page)
        }
        await reader.open(`${pageAt(shown.node.org)}/proposals?reviewer=me`)
        await expectSound(reader.page)
      }
      expect(reader.faults).to.deep.equal([])
      await reader.context.close()
    }
  })

  /** Fills a proposal with an entry of each kind. */
  async function everything(other: PersonClient, shown: Shown): Promise<Shown> {
    const on = (first_line: number, more: object = {}) => ({
      anchor: { commit: shown.head, path: 'content.md', first_line, ...more },
    })
    const quote = { exact: 'some fish', prefix: 'krill, and ', suffix: '.' }
    const write = (by: PersonClient, text: string, more: object = {}) =>
      by.post(`${shown.api}/comments`, { text, ...more }).then(expecting(201))
    await write(ann, '@Bob, is this **right**?\n\n- one\n- `two`', on(3))
    await write(other, 'Yes.', { thread: 1 })
    await write(other, 'This needs a source.', on(7, { quote }))
    await write(other, `${'Wide'.repeat(80)} https://example.org/${'x'.repeat(200)}`)
    await write(ann, 'Settled.', on(5))
    await ann.patch(`${shown.api}/threads/5`, { resolved: true }).then(expecting(200))
    await ann.delete(`${shown.api}/comments/4`).then(expecting(204))
    const verdict = { verdict: 'approve', text: 'Fine.', expected_source_commit: shown.head }
    await other.post(`${shown.api}/reviews`, verdict).then(expecting(201))
    await shown.node.commit('draft', { 'content.md': texts.after.replace('huge mammals', 'mammals') })
    await ann.patch(shown.api, { title: 'Say more of whales', reviewers: [bob.user.id] }).then(expecting(200))
    return shown
  }
})
