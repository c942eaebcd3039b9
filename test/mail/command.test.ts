/** `grove mail`, while the service runs. */
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { grove, smtp, useMail } from './scene.ts'

describe('grove mail', () => {
  useMail({ now: () => new Date() })

  it('lists a mail that failed, and sends it again', async () => {
    const ann = await signUp(grove, 'Ann')
    await smtp.verificationTo(ann.user.email)
    smtp.answer = () => 550
    await client(grove).post('/auth/password/forgot', { email: ann.user.email }).then(expecting(202))
    const failed = () => grove.deps.credentials.read.selectFrom('mail').selectAll().where('failed_at', 'is not', null)
    await grove.settled()
    const { id } = await failed().executeTakeFirstOrThrow()
    const { code, stdout } = await command(grove.dataDir, 'mail', 'list')
    expect(code).to.equal(0)
    expect(stdout).to.match(new RegExp(`^${id}  reset  ann@example\\.org  \\S+  failed  1 attempt  .*550.*\\n$`))
    smtp.answer = undefined
    const unknown = await command(grove.dataDir, 'mail', 'retry', '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02')
    expect(unknown.code).to.equal(1)
    expect((await command(grove.dataDir, 'mail', 'retry', id)).stdout).to.equal(
      '1 mail will be sent again by the running service\n',
    )
    await smtp.mailTo(ann.user.email)
    await grove.settled()
    expect((await command(grove.dataDir, 'mail', 'list')).stdout).to.equal('')
  })
})
