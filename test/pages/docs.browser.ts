/** The API reference at /docs: folded at first, with the samples of an operation, under its strict policy. */

import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { newVisitor, useScene } from './scene.ts'

describe('the API reference', () => {
  useScene()

  it('begins folded, and shows the samples of an operation above its responses', async () => {
    const { page, open, faults } = await newVisitor()
    expect((await open('/docs')).status).to.equal(200)
    await page.locator('.opblock-tag').first().waitFor()
    expect(await page.locator('.opblock-tag').count()).to.equal(document.tags.length)
    expect(await page.locator('.opblock').count()).to.equal(0)
    expect(await page.locator('.models').count()).to.equal(0)
    expect(await page.locator('.filter input').count()).to.equal(1)
    await page.locator('#operations-tag-nodes').click()
    const operation = page.locator('#operations-nodes-createNode')
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('heading', { name: 'grove/client' }).waitFor()
    const text = await operation.innerText()
    for (const { source } of document.paths['/orgs/{org_id}/nodes'].post['x-codeSamples'])
      expect(withoutSpace(text)).to.include(withoutSpace(source))
    expect(text.indexOf('grove/client')).to.be.below(text.indexOf('Responses'))
    const without = page.locator('#operations-nodes-createNodes')
    await without.locator('.opblock-summary-control').click()
    await without.getByText('Responses').first().waitFor()
    expect(await without.getByRole('heading', { name: 'grove/client' }).count()).to.equal(0)
    expect(faults).to.deep.equal([])
  })
})

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}
