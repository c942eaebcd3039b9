/** The messages of commands about `credentials.sqlite` that is damaged, missing or the only file. */

import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startGrove } from '../support/grove.ts'
import { client, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { cli, folder, useDesk } from './desk.ts'

describe('the operator of a folder with credentials.sqlite', () => {
  useDesk()

  let dataDir: string
  let backup: string

  before(async () => {
    dataDir = await folder()
    backup = join(await folder(), 'backup')
    const grove = await startGrove({ dataDir })
    await signUp(grove, 'Ann')
    await grove.close()
    await cli(dataDir, 'backup', backup)
  })

  it('fills no folder that has accounts', async () => {
    const target = await folder()
    await copyFile(join(backup, 'credentials.sqlite'), join(target, 'credentials.sqlite'))
    expect(await cli(target, 'restore', backup)).to.deep.equal({
      code: 2,
      stdout: '',
      stderr: `grove: ${target} is not an empty data folder: it has accounts\n`,
    })
  })

  it('loses no change that a service acknowledged after the file was deleted under it', async () => {
    const own = await folder()
    const file = join(own, 'credentials.sqlite')
    const grove = await startGrove({ dataDir: own, logLevel: 'silent' })
    await signUp(grove, 'Ann')
    await rm(file)
    await until(async () => (await client(grove).get('/readyz')).status === 503)
    const { status, body } = await client(grove).hasty.post('/auth/signup', {
      email: 'bob@example.org',
      name: 'Bob',
      password,
    })
    expect({ status, code: body.code, detail: body.detail }).to.deep.equal({
      status: 503,
      code: 'storage_error',
      detail: 'credentials.sqlite was deleted or replaced while the service ran',
    })
    await grove.close()
  })

  it.deep('hears from doctor that it is damaged, missing, or empty', async () => {
    const file = join(dataDir, 'credentials.sqlite')
    await writeFile(file, 'not a database at all '.repeat(100))
    const damaged = await cli(dataDir, 'doctor')
    expect(damaged.code).to.equal(1)
    expect(damaged.stdout).to.contain('\n  credentials.sqlite: file is not a database\n')
    await rename(file, join(dataDir, 'gone'))
    expect((await cli(dataDir, 'doctor')).stdout).to.contain(
      '\n  credentials.sqlite: is missing, together with all accounts\n',
    )
    await writeFile(file, '')
    const empty = await cli(dataDir, 'doctor')
    expect(empty.code).to.equal(1)
    expect(empty.stdout).to.contain('\n  credentials.sqlite: is empty, and all accounts are missing\n')
  })
})
