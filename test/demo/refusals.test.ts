/** Refusals of `grove demo` before it starts. */

import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'

describe('grove demo', () => {
  let scratch: string

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-demo-'))
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  const demo = (environment: Record<string, string>, ...options: string[]) =>
    runCommand(['demo', ...options], {
      PATH: process.env.PATH,
      DATA_DIR: join(scratch, 'new'),
      PORT: '0',
      ...environment,
    })

  const refusals = [
    [
      { HOST: '0.0.0.0' },
      'HOST: other machines can reach 0.0.0.0, and the passwords of the demo are known; use 127.0.0.1',
    ],
    [{ HOST: '192.0.2.1' }, 'HOST: other machines can reach 192.0.2.1, '],
    [
      { PUBLIC_URL: 'https://grove.example' },
      'PUBLIC_URL: the demo has no public URL, because its passwords are known',
    ],
    [{ TRUST_PROXY: '127.0.0.1' }, 'TRUST_PROXY: the demo is not for use behind a proxy; unset it, or run grove serve'],
    [{ WORKERS: '2' }, 'WORKERS: the demo runs in one process; unset it, or run grove serve'],
  ] as const

  for (const [environment, reason] of refusals)
    it(`refuses ${Object.entries(environment).join(' ').replace(',', '=')}, and leaves no folder`, async () => {
      const { code, stdout, stderr } = await demo(environment)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr)
        .to.match(/^grove: .*\n$/)
        .and.to.include(reason)
      expect(await readdir(scratch)).to.not.include('new')
    })

  for (const options of [[], ['--reset']])
    it(`refuses a folder that it did not make, and changes nothing there (${options.join(' ') || 'start'})`, async () => {
      const DATA_DIR = join(scratch, 'mine')
      await mkdir(DATA_DIR, { recursive: true })
      await writeFile(join(DATA_DIR, 'index.sqlite'), 'mine')
      const { code, stderr } = await demo({ DATA_DIR }, ...options)
      expect(code).to.equal(2)
      expect(stderr).to.equal(
        `grove: DATA_DIR: ${DATA_DIR} is not a demo, because it has index.sqlite and grove demo did not make it; unset DATA_DIR, or use an empty folder\n`,
      )
      expect(await readdir(DATA_DIR)).to.deep.equal(['index.sqlite'])
    })

  it('finds that the port is in use before it writes anything', async () => {
    const busy = createServer()
    await once(busy.listen(0, '127.0.0.1'), 'listening')
    const { port } = busy.address() as AddressInfo // it listens on a port
    const says = await demo({ PORT: String(port) })
    busy.close()
    const stderr = `grove: The port is in use: listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`
    expect(says).to.deep.equal({ code: 1, stdout: '', stderr })
    expect(await readdir(scratch)).to.not.include('new')
  })

  it('says why a folder cannot be made, as the service does', async () => {
    const file = join(scratch, 'file')
    await writeFile(file, '')
    await symlink(join(scratch, 'nowhere', 'deep'), join(scratch, 'dangling'))
    for (const [DATA_DIR, reason] of [
      [file, 'is not a folder'],
      [join(file, 'below'), 'is not a folder, or is below a file'],
      [join(scratch, 'dangling', 'below'), 'cannot be created: a folder above it is missing'],
      ['/proc/grove-demo', 'cannot be created: a folder above it is missing'],
    ] as const) {
      const { code, stderr } = await demo({ DATA_DIR })
      expect({ code, says: stderr.startsWith(`grove: DATA_DIR: ${DATA_DIR} ${reason}`) }, stderr).to.deep.equal({
        code: 2,
        says: true,
      })
    }
  })

  it('refuses a folder whose marker another program wrote, and keeps its files', async () => {
    for (const marker of ['{}', 'null', '{"name":"my project"}', '{"made_by":"me"}', 'no JSON']) {
      const DATA_DIR = await mkdtemp(join(scratch, 'project-'))
      await writeFile(join(DATA_DIR, '.grove-demo.json'), marker)
      await writeFile(join(DATA_DIR, 'a.txt'), 'mine')
      for (const options of [[], ['--reset']]) {
        const { code, stderr } = await demo({ DATA_DIR }, ...options)
        expect({ code, isNone: stderr.includes('is not a demo, because it has') }).to.deep.equal({
          code: 2,
          isNone: true,
        })
      }
      expect(await readdir(DATA_DIR)).to.have.members(['.grove-demo.json', 'a.txt'])
    }
  })
})
