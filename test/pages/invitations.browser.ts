/** An invited person opens the link, and writes. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { password, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('who opens the link of an invitation', () => {
  useScene()
  let org: string
  let link: string
  const visitors: Visitor[] = []

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Handbook' }))).id
    await made(ann.post(`/orgs/${org}/nodes`, { title: 'First page', text_content: 'We write together.\n' }))
    link = (await made(ann.post(`/orgs/${org}/invitations`, { role: 'editor', uses: 10 }))).url
  })
  after(async () => {
    for (const { context } of visitors) await context.close()
  })

  const arrive = async (options = {}) => {
    const visitor = await newVisitor(options)
    visitors.push(visitor)
    const requests: string[] = []
    visitor.page.on('request', (one) => requests.push(one.url()))
    return { ...visitor, requests }
  }

  it('makes an account, stands in the organisation and saves a first edit', async () => {
    const { page, requests, faults } = await arrive({ viewport: { width: 390, height: 844 } })
    await page.goto(link)
    await page.locator('[data-by-hand]').waitFor({ state: 'hidden' })
    await expectSound(page)
    await page.getByRole('button', { name: 'Create an account' }).click()
    await reached(page, 'Sign up')
    expect(await page.getByLabel('Invitation').count()).to.equal(0)
    await expectSound(page)
    await page.getByLabel('E-mail').fill('ben@example.org')
    await page.getByLabel('Name').fill('Ben')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await reached(page, 'Handbook')
    await page.getByText('You are an editor here.').waitFor()
    await page.getByRole('article').getByRole('link', { name: 'First page' }).click()
    await page.getByRole('link', { name: 'Edit', exact: true }).click()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText('Ben was here.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('.prose').getByText('Ben was here.').waitFor()
    expect(requests.filter((url) => url.includes('grv_invite_')).map((url) => url.split('#')[0])).to.deep.equal(
      requests.filter((url) => url.includes('grv_invite_')).map(() => `${grove.url}/join`),
    )
    expect(faults).to.deep.equal([])
  })

  it('signs in, or joins at once, also by another link in the same tab', async () => {
    const { page } = await arrive()
    const dora = await signUp(grove, 'Dora')
    await page.goto(link)
    await page.getByText(/^\w+ invites you to Handbook as an editor\.$/).waitFor()
    await page.getByRole('button', { name: 'Use an existing account' }).click()
    await reached(page, 'Sign in')
    await page.getByLabel('E-mail').fill(dora.user.email)
    await page.getByLabel('Password').fill(password)
    await page.locator('main').getByRole('button', { name: 'Sign in' }).click()
    await reached(page, 'Handbook')
    await page.goto(`${grove.url}/join`)
    await page.getByLabel('Invitation').waitFor()
    await page.evaluate((to) => location.assign(to), link)
    await page.locator('[data-by-hand]').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Join' }).click()
    await reached(page, 'Handbook')
  })

  it('is told that it has ended, and can open another', async () => {
    const { page } = await arrive()
    const { id, url } = await made(ann.post(`/orgs/${org}/invitations`, { role: 'editor' }))
    await ann.delete(`/orgs/${org}/invitations/${id}`)
    await page.goto(url)
    await page.getByText('This invitation has ended.').waitFor()
    expect(await page.locator('main').getByRole('button').count()).to.equal(0)
    await page.evaluate((to) => location.assign(to), link)
    await page.getByRole('button', { name: 'Create an account' }).waitFor()
  })

  it('pastes the link if no script runs', async () => {
    const { page } = await arrive({ javaScriptEnabled: false })
    await page.goto(link)
    await page.getByText('Copy the whole link from the address bar').waitFor()
    await page.getByLabel('Invitation').fill(page.url())
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByLabel('E-mail').fill('eve@example.org')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await reached(page, 'Handbook')
  })

  it('got it from an owner, who copied it', async () => {
    const visitor = await arrive({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = visitor
    await signIn(visitor)
    await visitor.open(`${pageAt(org)}/settings/members`)
    await page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).to.equal(await page.locator('[data-token]').textContent())
  })
})
