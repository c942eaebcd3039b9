/** A new password in a browser without script: from the sign-in page to a session. */
import { expect } from 'chai'
import { ann, grove, newVisitor, useScene } from '../pages/scene.ts'
import { client } from '../support/people.ts'
import { type MailServer, startMailServer, tokenIn } from '../support/smtp.ts'

describe('a lost password in a browser without script', () => {
  let server: MailServer
  useScene(async () => {
    server = await startMailServer()
    return { smtpUrl: server.url, publicUrl: 'http://127.0.0.1:3000' }
  })

  it('is set by the code of the mail', async () => {
    const { page, open, context } = await newVisitor({ javaScriptEnabled: false })
    await open('/sign-in')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('E-mail').fill(ann.user.email)
    await page.getByRole('button', { name: 'Send a mail' }).click()
    await page.getByRole('link', { name: 'enter the code' }).click()
    await page.getByLabel('Token').fill(tokenIn(await server.mailTo(ann.user.email)))
    await page.getByLabel('New password').fill('a new long one')
    await page.getByRole('button', { name: 'Set password' }).click()
    await open('/me/profile')
    await page.getByText(`You sign in with ${ann.user.email}.`).waitFor()
    const signedIn = await client(grove).post('/auth/login', { email: ann.user.email, password: 'a new long one' })
    expect(signedIn.status).to.equal(200)
    await context.close()
  })
})
