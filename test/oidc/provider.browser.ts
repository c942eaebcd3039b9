/** Signing in through a provider, in a browser without script. */

import { expect } from 'chai'
import { ann, grove, newVisitor, reached, signIn, useScene, type Visitor } from '../pages/scene.ts'
import { password } from '../support/people.ts'
import { settings } from './liar.ts'
import { passInBrowser } from './provider-pages.ts'
import { type RealProvider, startRealProvider } from './real-provider.ts'

describe('a browser without script', () => {
  let provider: RealProvider
  let visitor: Visitor

  useScene(async () => {
    const callbacks = () => ['acme', 'bell'].map((id) => `${grove.url}/sign-in/oidc/${id}/callback`)
    provider = await startRealProvider(callbacks)
    const { issuer } = provider
    return { oidc: [settings({ issuer }), settings({ issuer, id: 'bell', name: 'Bell & Sons' })] }
  })
  after(() => provider.stop())
  beforeEach(async () => {
    visitor = await newVisitor({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } })
  })
  afterEach(() => visitor.context.close())

  it('signs in through a provider, lands where it wanted to, and can sign out there too', async () => {
    const { page } = visitor
    await visitor.open('/me/tokens')
    await page.getByRole('link', { name: 'Sign in with Bell & Sons' }).waitFor()
    await page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await passInBrowser(page, 'robin')
    await page.waitForURL(`${grove.url}/me/tokens`)
    await visitor.open('/me/identities')
    await page.getByText('robin@acme.example').waitFor()
    await visitor.open('/me/profile')
    await page.getByLabel('Signed in as robin').waitFor()
    await signOut(visitor)
    await reached(page, 'You are signed out')
    expect(await page.getByLabel('Signed in as robin').count()).to.equal(0)
    const further = await page.getByRole('link', { name: 'Also sign out of Acme' }).getAttribute('href')
    expect(further).to.match(new RegExp(`^${provider.issuer}/session/end\\?`))
    await visitor.open('/me/tokens')
    await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor()
  })

  it('links a provider to an account with a password, and removes it', async () => {
    const { page } = visitor
    await signIn(visitor)
    await visitor.open('/me/identities')
    const acme = page.locator('details').filter({ hasText: 'Link Acme' })
    await acme.locator('summary').click()
    await acme.getByLabel('Current password').fill(password)
    await acme.getByRole('button', { name: 'Link Acme' }).click()
    await page.getByRole('link', { name: 'Continue to Acme to link it' }).click()
    await passInBrowser(page, 'ann')
    await page.waitForURL(`${grove.url}/me/identities?saved=linked`)
    await page.getByText('Linked. You can sign in with it now.').waitFor()

    const other = await newVisitor({ javaScriptEnabled: false })
    await other.open('/sign-in')
    await other.page.getByRole('link', { name: 'Sign in with Acme' }).click()
    await passInBrowser(other.page, 'ann')
    await other.page.waitForURL(`${grove.url}/`)
    await other.open('/me/profile')
    expect(await other.page.content()).to.include(ann.user.email)

    await page.getByLabel('Remove Acme…').click()
    await page.locator('form').filter({ hasText: 'You can no longer' }).getByLabel('Current password').fill(password)
    await page.getByRole('button', { name: 'Remove Acme', exact: true }).click()
    await page.waitForURL(`${grove.url}/me/identities?saved=remove`)
    await other.open('/me/profile')
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.context.close()
  })
})

async function signOut({ page }: Visitor): Promise<void> {
  await page.locator('summary[aria-label^="Signed in as"]').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}
