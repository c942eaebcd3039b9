/** Rules on the page of a proposal in a browser: by keyboard, and on narrow screens. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

describe('rules on the page of a proposal in a browser', () => {
  useScene()
  for (const colorScheme of ['light', 'dark'] as const)
    it(`are readable at each width, and overridden by keyboard (${colorScheme})`, async () => {
      const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
      await node.proposal('draft')
      await node.open('draft')
      const checks = [{ name: `build/${'very-'.repeat(15)}long` }]
      const rules = [{ branches: ['main'], approvals: 1, checks, resolved: true }]
      await made(ann.patch(`/orgs/${node.org}`, { rules }))
      await made(ann.post(`${node.at}/pull-requests/1/comments`, { text: 'A source?' }))
      const visitor: Visitor = await newVisitor({ colorScheme })
      const { page, open, faults } = visitor
      await signIn(visitor)
      await open(`${pageAt(node.org, node.id)}/proposals/1`)
      await page.getByRole('heading', { name: 'Needs approval' }).waitFor()
      await page.getByText('Merge anyway…').focus()
      await page.keyboard.press('Enter')
      for (const width of [390, 820, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        await expectSound(page)
      }
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.name')).to.equal('text')
      await page.keyboard.type('It is late.')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByText('Merged in spite of: missing approvals, a missing check and open threads').waitFor()
      await expectSound(page)
      await open(`${pageAt(node.org)}/settings/rules`)
      await expectSound(page)
      expect(faults).to.deep.equal([])
      await page.context().close()
      await made(ann.patch(`/orgs/${node.org}`, { rules: [] }))
    })
})
