/** An administrator adds a person by keyboard, who opens the link; and who ends a session. */

import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

describe('an administrator in a browser', () => {
  useScene()
  let visitor: Visitor

  before(async () => {
    await updateAccount(
      { ...grove.deps, actor: operator },
      { path: { account_id: ann.user.id }, body: { is_admin: true } },
    )
    visitor = await newVisitor({ permissions: ['clipboard-read', 'clipboard-write'] })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('gets from the menu to a new account by keyboard, and copies its link, which sets a password', async () => {
    const { page, faults } = visitor
    await page.getByLabel('Signed in as Ann').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Administration' }).focus()
    await page.keyboard.press('Enter')
    await reached(page, 'Accounts')
    await page.getByRole('link', { name: 'Add an account' }).focus()
    await page.keyboard.press('Enter')
    await reached(page, 'Add an account')
    await page.getByLabel('E-mail', { exact: true }).focus()
    await page.keyboard.type('zoe@example.org')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Zoe')
    await page.keyboard.press('Enter')
    await page.getByText('Zoe has an account').waitFor()
    await expectSound(page)
    await page.getByRole('button', { name: 'Copy link' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const link = await page.evaluate(() => navigator.clipboard.readText())
    expect(link).to.equal((await page.locator('[data-token]').textContent())?.trim())

    const zoe = await newVisitor({ viewport: { width: 390, height: 844 } })
    const requests: string[] = []
    zoe.page.on('request', (one) => requests.push(one.url()))
    await zoe.page.goto(link)
    await zoe.page.locator('[data-by-hand]').waitFor({ state: 'hidden' })
    expect(new URL(zoe.page.url()).hash, 'in the history of the browser').to.equal('')
    await expectSound(zoe.page)
    await zoe.page.getByLabel('New password').fill('staple the horse')
    await zoe.page.keyboard.press('Enter')
    await zoe.page.getByLabel('Signed in as Zoe').waitFor()
    for (const url of requests.filter((one) => one.includes('grv_reset_')))
      expect(new URL(url).hash, 'the token is only in the fragment').to.contain('grv_reset_')
    expect([...faults, ...zoe.faults]).to.deep.equal([])
    // A used link is refused, and what was typed can be corrected.
    await zoe.page.goto(link)
    await zoe.page.locator('[data-by-hand]').waitFor({ state: 'hidden' })
    await zoe.page.getByLabel('New password').fill('staple the horse')
    await zoe.page.keyboard.press('Enter')
    await zoe.page.getByText('The reset token is unknown, expired or used up.').waitFor()
    await expectSound(zoe.page)
    await zoe.context.close()
  })

  it('sees why a form was refused, next to the field, with what was typed', async () => {
    const { page, open } = visitor
    const bob = await signUp(grove, 'Bob')
    await open(`/admin/accounts/${bob.user.id}`)
    const confirm = page.getByLabel('E-mail address, to confirm')
    await confirm.fill('bob')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await confirm.inputValue()).to.equal('bob')
    expect(await confirm.getAttribute('aria-invalid')).to.equal('true')
    await expectSound(page)
    await page.getByLabel('Reason').fill('Left')
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('The account is disabled.').waitFor()
    await expectSound(page)
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByText('The user can sign in again.').waitFor()
    await confirm.fill(bob.user.email)
    await page.getByRole('button', { name: 'Delete account' }).click()
    await reached(page, 'Account deleted')
    await expectSound(page)
  })

  it('recognises a session, and ends it', async () => {
    const dan = await signUp(grove, 'Dan')
    const [here, there] = [
      await newVisitor(),
      await newVisitor({ userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/128.0' }),
    ]
    await signIn(here, dan)
    await signIn(there, dan)
    await here.open('/me/sessions')
    await here.page.getByRole('button', { name: 'End the session of Firefox on Linux' }).click()
    await here.page.getByText('The session has ended.').waitFor()
    await expectSound(here.page)
    expect(await there.open('/me/profile')).to.deep.equal({ status: 401 })
    for (const one of [here, there]) await one.context.close()
  })
})
