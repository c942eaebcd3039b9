/** Editing an open proposal with scripts: drafts by branch, a lost race, and the way back to the proposal. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('the editor of a proposal', () => {
  useScene()
  let org: string
  let cy: PersonClient

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', require_pull_requests: true }))).id
    cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${org}/members/cy@example.org`, { role: 'contributor' }))
  })

  it('opens from the proposal, keeps a draft by branch, shows a lost race, and saves to the proposal', async () => {
    const fields = { title: 'Whales', text_content: 'They sing.\n' }
    const node = (await made(ann.post(`/orgs/${org}/nodes`, fields))).id as string
    const visitor = await newVisitor()
    const { page, open, faults } = visitor
    const field = page.locator('.cm-content')
    const type = async (text: string) => {
      await field.click()
      await page.keyboard.press('Control+End')
      await page.keyboard.type(text)
    }
    await signIn(visitor, cy)
    await open(`${pageAt(org, node)}/edit`)
    await type('They swim.')
    await page.getByRole('button', { name: 'Propose changes' }).click()
    await reached(page, 'Edit Whales #1')
    await page.getByRole('link', { name: 'View as proposed' }).click()
    await reached(page, 'Whales')
    await page.getByRole('link', { name: 'Edit this proposal' }).click()
    await reached(page, 'Edit Whales')
    expect(await field.textContent()).to.include('They swim.')
    expect(await page.locator('.editor-acts button').allTextContents()).to.deep.equal(['Save to proposal #1'])
    await expectSound(page)
    await type(' They dive.')

    // The draft belongs to the branch: the editor of main does not offer it.
    await open(`${pageAt(org, node)}/edit`)
    await field.waitFor()
    await page.locator('.notice').getByText('You have an open proposal').waitFor()
    expect(await field.textContent()).not.to.include('They swim.')
    expect(await page.getByRole('button', { name: 'Restore' }).count()).to.equal(0)
    await page.getByRole('link', { name: 'Edit it instead' }).click()
    await page.getByRole('button', { name: 'Restore' }).click()
    expect(await field.textContent()).to.include('They dive.')

    const at = `/orgs/${org}/nodes/${node}`
    const { source_branch: branch } = (await made(ann.get(`${at}/pull-requests/1`))).pr
    const commits = `${at}/tree/${encodeURIComponent(branch)}/commits`
    const changes = [{ action: 'put', path: 'content.md', content: 'All sing.\nThey swim.' }]
    await made(ann.post(commits, { message: 'Say all', changes }))
    await page.keyboard.press('Control+s')
    await page.getByRole('heading', { name: 'This page has changed since you opened it' }).waitFor()
    expect(await page.locator('.whole pre[data-theirs]').textContent()).to.equal('All sing.\nThey swim.')
    await page.getByRole('button', { name: 'Save to proposal #1' }).click()
    await reached(page, 'Edit Whales #1')
    const file = await made(ann.get(`${at}/tree/${encodeURIComponent(branch)}/files/content.md`))
    expect(file.content).to.include('They swim. They dive.')
    expect((await made(ann.get(`${at}/pull-requests/1`))).pr).to.include({ commits_ahead: 3, can_merge: true })
    await page.keyboard.press('e')
    await reached(page, 'Edit Whales')
    await field.waitFor()
    expect(await page.getByRole('button', { name: 'Restore' }).count()).to.equal(0)
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('saves a page that is only proposed, with and without script', async () => {
    const nodes = [{ title: 'Seals', text_content: 'They bark at [[Whales]].\n' }]
    const set = await made(cy.post(`/orgs/${org}/change-sets`, { title: 'Seals', nodes }))
    const [{ node_id: id }] = set.change_set.items
    const at = `/orgs/${org}/nodes/${id}`
    const { source_branch: branch } = (await made(ann.get(`${at}/pull-requests/1`))).pr
    for (const javaScriptEnabled of [true, false]) {
      const { page, open, context } = await newVisitor({ javaScriptEnabled })
      await signIn({ page, open } as Awaited<ReturnType<typeof newVisitor>>, cy)
      await open(`${pageAt(org, id)}/edit?branch=${encodeURIComponent(branch)}`)
      const text = javaScriptEnabled ? page.locator('.cm-content') : page.getByLabel('Text', { exact: true })
      await text.fill(`They bark ${javaScriptEnabled ? 'loud' : 'louder'}.`)
      await page.getByRole('button', { name: /^Save to proposal/ }).click()
      await page.waitForURL(/proposals/)
      const file = await made(ann.get(`${at}/tree/${encodeURIComponent(branch)}/files/content.md`))
      expect(file.content).to.include(javaScriptEnabled ? 'loud' : 'louder')
      await context.close()
    }
  })
})
