/** `grove config check --online` tries the mail server. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { cliWith } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startMailServer } from '../support/smtp.ts'

describe('grove config check --online', () => {
  let dataDir: string
  before(async () => {
    dataDir = await newDataDir()
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  const check = (SMTP_URL: string) =>
    cliWith(
      { DATA_DIR: dataDir, SMTP_URL, MAIL_FROM: 'grove@grove.example', PUBLIC_URL: 'https://grove.example' },
      ...['config', 'check', '--online'],
    )

  it('finds no problem with a server that answers', async () => {
    const { stdout } = await check((await startMailServer()).url)
    expect(stdout).to.contain('SMTP_URL').and.not.to.contain('SMTP_URL:')
  })

  it('names a server that cannot be reached, without its password', async () => {
    const { code, stdout } = await check('smtp://grove:secret@127.0.0.1:1')
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /SMTP_URL: The mail server 127\.0\.0\.1:1 cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:1\)/,
    )
    expect(stdout).not.to.contain('secret')
  })

  it('names a server that refuses the password', async () => {
    const server = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, callback) => callback(Object.assign(new Error('No'), { responseCode: 535 })),
    })
    const { code, stdout } = await check(`smtp://grove:wrong@127.0.0.1:${server.port}`)
    expect(code).to.equal(1)
    expect(stdout).to.match(/SMTP_URL: The mail server answered 535 to AUTH/)
  })
})
