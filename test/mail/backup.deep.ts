/** Mails are not in a backup, so a restored service sends nothing. */
import { join } from 'node:path'
import { expect } from 'chai'
import { queueDigests } from '../../server/features/inbox/digest.ts'
import { cli, folder } from '../operator/desk.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { startMailServer } from '../support/smtp.ts'

describe('a backup of a service with mails that wait', () => {
  it('has none of them, and no turns of digests', async () => {
    const backup = join(await folder(), 'backup')
    const target = await folder()
    const busy = await startGrove({ smtpUrl: 'smtp://127.0.0.1:1', sweeps: false })
    try {
      const ann = await signUp(busy, 'Ann')
      await ann.patch('/auth/me', { digest: 'daily' }).then(expecting(200))
      await client(busy).post('/auth/password/forgot', { email: ann.user.email }).then(expecting(202))
      await queueDigests(busy.deps)
      const { read } = busy.deps.credentials
      expect(await read.selectFrom('mail').selectAll().execute()).to.have.length(2)
      expect(await read.selectFrom('digest_turn').selectAll().execute()).to.have.length(1)
      expect((await cli(busy.dataDir, 'backup', backup)).code).to.equal(0)
    } finally {
      await busy.close()
    }
    expect((await cli(target, 'restore', backup)).code).to.equal(0)
    const server = await startMailServer()
    const restored = await startGrove({ dataDir: target, smtpUrl: server.url })
    try {
      const { read } = restored.deps.credentials
      expect(await read.selectFrom('account').select('digest').execute()).to.deep.equal([{ digest: 'daily' }])
      for (const table of ['mail', 'digest_turn'] as const)
        expect(await read.selectFrom(table).selectAll().execute(), table).to.deep.equal([])
      await queueDigests(restored.deps)
      expect(await read.selectFrom('mail').selectAll().execute()).to.deep.equal([])
      expect(server.received).to.deep.equal([])
    } finally {
      await restored.close()
    }
  })
})
