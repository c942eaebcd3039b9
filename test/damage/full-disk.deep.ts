/** A small disk that another program fills: what still works, and how there is room again. */

import { execFile, execFileSync } from 'node:child_process'
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { commitOf } from '../support/concurrency-rules.ts'
import { expectSound } from '../support/data-folder.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const settings = { DISK_RESERVE: '16' }

describe('a data folder on a disk of 56 MiB', () => {
  let folder: string
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode

  const filler = () => join(folder, 'filler')
  const reserve = () => join(folder, 'reserve')
  const freeBytes = () => statfsSync(folder).bavail * statfsSync(folder).bsize
  /** Writes until nothing more fits. */
  const fill = async () => {
    const bytes = Buffer.alloc(65_536)
    await writeFile(filler(), bytes)
    for (;;)
      try {
        await writeFile(filler(), bytes, { flag: 'a' })
      } catch (error) {
        expect(error).to.have.property('code', 'ENOSPC')
        return
      }
  }
  const commit = () => ann.post(`${node.at}/tree/main/commits`, commitOf('A song'))
  const push = () => {
    const url = new URL(`${grove.url}/git/${ann.org}/${node.id}.git`)
    Object.assign(url, { username: 'ann', password: ann.session.accessToken })
    return promisify(execFile)('git', ['push', '-q', url.href, 'main:seals'], { cwd: node.git.dir }).then(
      () => 'pushed',
      (error: unknown) => String(error),
    )
  }
  /** Starts the service again, with the same user. */
  const start = async () => {
    grove = await spawnGrove(folder, settings)
    ann = { ...ann, ...client(grove, ann.session.accessToken) }
  }
  const signIn = () => client(grove).post('/auth/login', { email: ann.user.email, password })
  const command = (...args: string[]) => runCommand(args, { ...process.env, DATA_DIR: folder, ...settings })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-full-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=56m', 'grove-full', folder], { stdio: 'pipe' })
    } catch (error) {
      throw new Error('This test mounts a small disk (tmpfs), which needs root or CAP_SYS_ADMIN', { cause: error })
    }
    grove = await spawnGrove(folder, settings)
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { text_content: 'Whales sing' })
    await until(() => existsSync(reserve()))
  })
  after(async () => {
    await grove?.kill()
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true, force: true })
  })

  it('deletes, signs in, starts, reads and purges when it is full, and writes again when there is room', async () => {
    const doomed = await newNode(grove, ann)
    const [late, last] = [await newNode(grove, ann), await newNode(grove, ann)]
    await fill()
    expect(freeBytes()).to.equal(0)

    // Within a second the service sees that the disk is full.
    await until(async () => (await ann.delete(doomed.at)).status === 204)
    expect(existsSync(reserve())).to.equal(false)
    expect((await signIn()).status).to.equal(200)
    const refused = await commit()
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'storage_full'])
    expect(refused.body.detail).to.include('only reading, signing in and deleting')
    expect(await push()).to.include('503')
    for (const asked of [
      ann.post('/auth/tokens', { name: 'Laptop', access: 'read' }),
      ann.patch('/auth/me', { name: 'Anna' }),
      ann.put(`${node.at}/follow`, {}),
    ])
      expect((await asked).body.code).to.equal('storage_full')
    expect((await ann.delete('/auth/sessions')).status).to.equal(204)
    // Refused writes take nothing of what deletions need.
    for (let n = 0; n < 50; n++) expect((await commit()).status).to.equal(503)
    expect((await ann.delete(late.at)).status).to.equal(204)
    expect((await ann.get(node.at)).body).to.include({ text_content: 'Whales sing' })

    expect(await grove.stop()).to.equal(0)
    await start()
    expect((await signIn()).status).to.equal(200)
    expect((await ann.get(node.at)).body).to.include({ text_content: 'Whales sing' })
    const purged = await command('purge', '--older-than', '0', '--force')
    expect(purged).to.include({ code: 0 })
    expect(purged.stdout).to.include('2 removed')

    await rm(filler())
    await until(async () => (await commit()).status === 201)
    await until(() => existsSync(reserve()))
    expect((await ann.delete(last.at)).status).to.equal(204)
    await expectSound(folder)
  })

  it('starts and purges when it became full while the service was stopped', async () => {
    await until(() => existsSync(reserve()))
    const doomed = await newNode(grove, ann)
    expect((await ann.delete(doomed.at)).status).to.equal(204)
    expect(await grove.stop()).to.equal(0)
    await fill()
    const purged = await command('purge', '--older-than', '0', '--force')
    expect(purged).to.include({ code: 0 })
    expect(purged.stdout).to.include(doomed.id)
    await start()
    expect((await signIn()).status).to.equal(200)
    expect((await ann.get(node.at)).status).to.equal(200)
  })
})
