/** Texts that are read from right to left, on a page and in the editor. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, newVisitor, reached, signIn, useScene } from './scene.ts'

const text_content = `الحيتان ثدييات كبيرة.

- أولا
- ثانيا

| اسم | رقم |
|-----|-----|
| حوت | 1 |

English, too.
`

describe('a text from right to left', () => {
  useScene()

  it('has the direction of its letters, block by block, and so have the lines of the editor', async () => {
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'الحيتان', text_content }))
    const visitor = await newVisitor()
    const { page, open } = visitor
    await signIn(visitor)
    await open(pageAt(ann.org, id))
    await reached(page, 'الحيتان')
    const directionOf = (selector: string) =>
      page.locator(selector).evaluate((element) => getComputedStyle(element).direction)
    for (const [selector, direction] of [
      ['h1', 'rtl'],
      ['.prose ul', 'rtl'],
      ['.prose table', 'rtl'],
    ] as const)
      expect(await directionOf(selector), selector).to.equal(direction)
    expect(
      await page.locator('.prose p').evaluateAll((all) => all.map((one) => getComputedStyle(one).unicodeBidi)),
    ).to.deep.equal(['plaintext', 'plaintext'])
    await open(`${pageAt(ann.org, id)}/edit`)
    const first = page.locator('.cm-line').first()
    await first.waitFor()
    expect(await first.evaluate((line) => getComputedStyle(line).direction)).to.equal('rtl')
    const english = page.locator('.cm-line', { hasText: 'English' })
    expect(await english.evaluate((line) => getComputedStyle(line).direction)).to.equal('ltr')
    await visitor.context.close()
  })
})
