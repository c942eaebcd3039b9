/** Lines of code as a browser lays them out. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('lines of code', () => {
  useScene()

  it('stand as far apart as their letters are high, and half of that', async () => {
    const text_content = '```js\nconst first = 1\nconst second = 2\n```\n'
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Code', text_content }))
    const visitor = await newVisitor()
    await signIn(visitor)
    await visitor.open(pageAt(ann.org, id))
    await reached(visitor.page, 'Code')
    const apart = await visitor.page.locator('.prose pre code').evaluate((code) => {
      const { fontSize } = getComputedStyle(code)
      const heights = getComputedStyle(code.parentElement ?? code)
      const inner = (code.parentElement?.clientHeight ?? 0) - 2 * Number.parseFloat(heights.paddingTop)
      return inner / 2 / Number.parseFloat(fontSize)
    })
    expect(apart).to.be.within(1.4, 1.7)
    await visitor.context.close()
  })

  it('have no ground of their own in a callout, unlike code within a line', async () => {
    const text_content = '> [!tip] Run\n> This `code`:\n>\n> ```js\n> const first = 1\n> ```\n'
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Called', text_content }))
    const visitor = await newVisitor()
    await signIn(visitor)
    await visitor.open(pageAt(ann.org, id))
    await reached(visitor.page, 'Called')
    const groundOf = (selector: string) =>
      visitor.page.locator(selector).evaluate((code) => getComputedStyle(code).backgroundColor)
    expect(await groundOf('.callout pre code')).to.equal('rgba(0, 0, 0, 0)')
    expect(await groundOf('.callout p code')).not.to.equal('rgba(0, 0, 0, 0)')
    await visitor.context.close()
  })
})
