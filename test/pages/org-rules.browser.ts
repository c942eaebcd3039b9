/** The rules of an organisation in a browser: by keyboard, with and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

describe('the rules of an organisation in a browser', () => {
  useScene()

  for (const javaScriptEnabled of [true, false])
    describe(javaScriptEnabled ? 'with script' : 'without script', () => {
      let visitor: Visitor
      let org: string
      let path: string
      beforeEach(async () => {
        org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
        await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
        await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whale song' }))
        path = `${pageAt(org)}/settings/rules`
        visitor = await newVisitor({ javaScriptEnabled })
        await signIn(visitor)
      })
      afterEach(() => visitor.page.context().close())

      const rulesOf = async () => (await made(ann.get(`/orgs/${org}`))).rules

      it('are added for a part of the tree, changed and removed', async () => {
        const { page, open } = visitor
        await open(path)
        await page.getByRole('link', { name: 'Add a rule' }).click()
        await page.getByText('More options').click()
        await page.getByLabel('Branches').fill('release/**')
        await page.getByPlaceholder('Title of a page').fill('Whale')
        await page.getByRole('main').getByRole('button', { name: 'Search' }).click()
        await page.getByLabel('“Whales” and the pages below it').check()
        await page.getByLabel('All threads must be resolved').check()
        if (javaScriptEnabled) await expectSound(page)
        // The Enter key saves, although the button that searches is before Save.
        await page.getByLabel('this number of approvals').fill('2')
        await page.getByLabel('this number of approvals').press('Enter')
        await page.getByText('Saved.').waitFor()
        await page
          .getByText(
            '“Whales” and the pages below it on release/** needs 2 approvals by anyone who may publish, and all',
          )
          .waitFor()
        expect(await rulesOf()).to.have.length(1)
        await page.getByRole('link', { name: 'Change the rule for release/**' }).click()
        await page.getByLabel('Branches').fill('a..b')
        await page.getByRole('button', { name: 'Save rule' }).click()
        await page.getByText('“a..b”: No branch can match this').waitFor()
        await page.getByLabel('Branches').fill('next')
        await page.getByRole('button', { name: 'Save rule' }).click()
        await page.getByText('below it on next').waitFor()
        if (javaScriptEnabled) await expectSound(page)
        await page.getByLabel('Remove the rule for next…').click()
        await page.getByRole('button', { name: 'Remove the rule for next' }).click()
        await page.getByText('There are no other rules.').waitFor()
        expect(await rulesOf()).to.deep.equal([])
      })
    })
})
