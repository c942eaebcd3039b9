/** Two processes on PostgreSQL send each mail once. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { queueDigests } from '../../server/features/inbox/digest.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'
import { isVerification, type MailServer, startMailServer } from '../support/smtp.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const publicUrl = 'http://127.0.0.1'
const people = 12

describe('two processes on PostgreSQL', () => {
  let dataDir: string
  let server: MailServer
  let here: Grove
  let there: SpawnedGrove
  before(async () => {
    dataDir = await newDataDir()
    server = await startMailServer()
    const postgres = await databaseFor(dataDir)
    here = await startGrove({ dataDir, postgres, smtpUrl: server.url, publicUrl })
    const mail = { SMTP_URL: server.url, MAIL_FROM: 'grove@grove.example', PUBLIC_URL: publicUrl }
    there = await spawnGrove(dataDir, { DATABASE_URL: postgres, ...mail })
  })
  after(async () => {
    await there?.stop()
    await here?.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const isSent = () =>
    until(async () => (await here.deps.credentials.read.selectFrom('mail').selectAll().execute()).length === 0)

  it('send each mail once', async () => {
    const users = []
    for (let n = 0; n < people; n += 1) users.push(await signUp(n % 2 === 0 ? here : there, `User ${n}`))
    await Promise.all(
      users.map(({ user }, n) =>
        client(n % 2 === 0 ? there : here)
          .post('/auth/password/forgot', { email: user.email })
          .then(expecting(202)),
      ),
    )
    await isSent()
    const addresses = users.map(({ user }) => user.email).sort()
    for (const isOne of [isVerification, (mail: Parameters<typeof isVerification>[0]) => !isVerification(mail)])
      expect(
        server.received
          .filter(isOne)
          .flatMap(({ to }) => to)
          .sort(),
      ).to.deep.equal(addresses)
  })
})

describe('two services on PostgreSQL that do not send', () => {
  it('queue each digest once', async () => {
    const dataDir = await newDataDir()
    const postgres = await databaseFor(dataDir)
    const options = { dataDir, postgres, smtpUrl: 'smtp://127.0.0.1:1', sweeps: false }
    const [one, other] = [await startGrove(options), await startGrove(options)]
    try {
      for (let n = 0; n < people; n += 1) await signUp(one, `User ${n}`)
      const { read, write } = one.deps.credentials
      await write((trx) => trx.updateTable('account').set({ digest: 'daily' }).execute())
      const queueBoth = () => Promise.all([queueDigests(one.deps), queueDigests(other.deps)])
      const digests = () => read.selectFrom('mail').select('account_id').where('kind', '=', 'digest').execute()
      await queueBoth()
      expect(await digests()).to.deep.equal([])
      await write((trx) => trx.updateTable('digest_turn').set({ next_at: 0 }).execute())
      await queueBoth()
      await queueBoth()
      expect(new Set((await digests()).map(({ account_id }) => account_id)).size).to.equal(people)
      expect(await digests()).to.have.length(people)
    } finally {
      await one.close()
      await other.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
