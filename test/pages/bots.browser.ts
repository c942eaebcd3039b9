/** Bots are managed in Chromium, with and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('bots in a browser', () => {
  useScene()

  for (const javaScriptEnabled of [true, false])
    it(`are created, get a token and are deleted ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
      const visitor = await newVisitor({ javaScriptEnabled })
      const { page } = visitor
      await signIn(visitor)
      await visitor.open(`${pageAt(ann.org)}/settings/members`)
      await page.getByRole('link', { name: 'Bots' }).click()
      await reached(page, 'Bots')
      if (javaScriptEnabled) await expectSound(page)
      await page.getByLabel('Name').fill('Builder')
      await page.getByLabel('Publish (editor)').check()
      await page.getByRole('button', { name: 'Create bot' }).click()
      await page.getByRole('heading', { name: 'Builder[bot]', level: 1 }).waitFor()
      await page.locator('#token-name').fill('CI')
      await page.getByLabel('Publish Changes').check()
      await page.getByRole('button', { name: 'Create token' }).click()
      const token = (await page.locator('[data-token]').textContent())?.trim() ?? ''
      if (javaScriptEnabled) await expectSound(page)
      const as = client(grove, token)
      const { id } = await made(as.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }))
      expect((await ann.get(`/orgs/${ann.org}/nodes/${id}`)).status).to.equal(200)
      await page.getByText('Delete…', { exact: true }).click()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('The bot was deleted.').waitFor()
      expect((await as.get(`/orgs/${ann.org}`)).status).to.equal(401)
      expect(visitor.faults).to.deep.equal([])
      await visitor.context.close()
    })
})
