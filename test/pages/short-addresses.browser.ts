/** Short addresses in a browser: old ones without script, and ids that are copied. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('a short address', () => {
  useScene()
  let org: { readonly id: string; readonly name: string }
  let node: { readonly id: string; readonly title: string }

  before(async () => {
    org = await made(ann.post('/orgs', { name: 'Atlas', published: true }))
    node = await made(ann.post(`/orgs/${org.id}/nodes`, { title: 'Кит и криль', text_content: '## Food\n\nKrill.\n' }))
  })

  it('is where an old one leads, without script, with its query and its anchor', async () => {
    const { context, page, open, faults } = await newVisitor({ javaScriptEnabled: false })
    expect(await open(`/o/${org.id}/n/${node.id}/fish?at=main#food`)).to.deep.equal({ status: 200 })
    expect(page.url()).to.equal(`${grove.url}${pageAt(org, node)}?at=main#food`)
    await page.getByRole('link', { name: '1 commit' }).or(page.locator('a[data-key=h]')).first().click()
    expect(page.url()).to.equal(`${grove.url}${pageAt(org, node)}/history`)
    await page.getByRole('link', { name: 'Кит и криль' }).first().click()
    expect(page.url()).to.equal(`${grove.url}${pageAt(org, node)}`)
    expect(faults).to.deep.equal([])
    await context.close()
  })

  for (const [place, width] of [
    ['page', 390],
    ['organisation', 1440],
  ] as const)
    it(`has its id in the settings of the ${place}, to copy`, async () => {
      const visitor = await newVisitor({
        permissions: ['clipboard-read', 'clipboard-write'],
        viewport: { width, height: 900 },
      })
      const { context, page, open, faults } = visitor
      await signIn(visitor)
      await open(place === 'page' ? `${pageAt(org, node)}/settings` : `${pageAt(org)}/settings/general`)
      await reached(page, place === 'page' ? 'Settings of Кит и криль' : 'Settings')
      await page.getByRole('button', { name: 'Copy id' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      const { id } = place === 'page' ? node : org
      expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(id)
      await expectSound(page)
      expect(faults).to.deep.equal([])
      await context.close()
    })
})
