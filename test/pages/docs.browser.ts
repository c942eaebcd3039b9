/** The API reference at /docs: folded at first, with the samples of an operation, under its strict policy. */

import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { until } from '../support/until.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene } from './scene.ts'

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

  it('is a page of Grove: a way back, the theme, by keyboard, on a phone', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, open, faults, context } = await newVisitor({ colorScheme })
      await page.setViewportSize({ width: 390, height: 800 })
      await open('/docs')
      await page.locator('.opblock-tag').first().waitFor()
      await expectSound(page)
      const isDark = () => page.evaluate("document.documentElement.classList.contains('dark-mode')")
      expect(await isDark()).to.equal(colorScheme === 'dark')
      await page.keyboard.press('d')
      await until(async () => (await isDark()) !== (colorScheme === 'dark'))
      await page.reload()
      await page.locator('.opblock-tag').first().waitFor()
      expect(await isDark()).to.equal(colorScheme !== 'dark')
      await page.locator('#operations-tag-nodes').click()
      await page.locator('#operations-nodes-createNode .opblock-summary-control').focus()
      await page.keyboard.press('Enter')
      await page.locator('#operations-nodes-createNode').getByRole('heading', { name: 'grove/client' }).waitFor()
      await expectSound(page)
      await page.getByRole('link', { name: 'sign in', exact: true }).click()
      await page.getByLabel('E-mail').waitFor()
      expect(new URL(page.url()).searchParams.get('next')).to.equal('/docs')
      await open('/docs')
      await page.getByRole('link', { name: 'Grove', exact: true }).click()
      await page.waitForURL(`${grove.url}/`)
      expect(faults).to.deep.equal([])
      await context.close()
    }
  })

  it('sends requests as the user who has signed in, and leads to their tokens', async () => {
    const visitor = await newVisitor()
    await signIn(visitor)
    const { page, open, context } = visitor
    await open('/docs')
    const tag = page.locator('#operations-tag-auth')
    await tag.click()
    const operation = page.locator('#operations-auth-getMe')
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    const answer = page.waitForResponse(`${grove.url}/auth/me`)
    await operation.getByRole('button', { name: 'Execute' }).click()
    expect((await (await answer).json()).email).to.equal(ann.user.email)
    await page.getByRole('link', { name: 'create a token' }).click()
    await page.waitForURL(`${grove.url}/me/tokens`)
    await context.close()
  })

  it('says without script where the document is', async () => {
    const { page, open, context } = await newVisitor({ javaScriptEnabled: false })
    await open('/docs')
    await page.locator('.docs .notice').waitFor()
    await context.close()
  })
})

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}
