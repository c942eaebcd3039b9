/** `grove backup` into mirrors that another has written to: they name no program that runs, and no other repository. */
import { existsSync } from 'node:fs'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Git, gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { cli, folder, useDesk } from './desk.ts'

describe('grove backup into a hostile folder', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let backup: string
  let mirror: Git
  let trace: string
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())
  beforeEach(async () => {
    node = await newNode(grove, ann)
    const scratch = await folder()
    backup = join(scratch, 'backup')
    trace = join(scratch, 'trace')
    await backUp()
    mirror = gitIn({ dataDir: backup }, ann.org, node.id)
  })

  /** Again after a commit: the mirror then has all refs, and nothing has run. */
  async function expectHarmless(): Promise<void> {
    await node.commit('main', { 'a.txt': 'more\n' })
    await backUp()
    expect(existsSync(trace)).to.equal(false)
    expect(mirror.lines('for-each-ref')).to.deep.equal(node.git.lines('for-each-ref'))
    mirror.fsck()
  }

  async function backUp(): Promise<void> {
    const { code, stdout, stderr } = await cli(grove.dataDir, 'backup', '--full', backup)
    expect(code, `${stdout}${stderr}`).to.equal(0)
  }

  const configure = (text: string) => appendFile(join(mirror.dir, 'config'), text)

  async function program(...path: string[]): Promise<string> {
    const file = join(...path)
    await writeFile(file, `#!/bin/sh\ntouch ${trace}\n`, { mode: 0o755 })
    return file
  }

  it('runs none of their hooks', async () => {
    await mkdir(join(mirror.dir, 'hooks'), { recursive: true })
    for (const hook of ['reference-transaction', 'post-update']) await program(mirror.dir, 'hooks', hook)
    await expectHarmless()
  })

  it('runs no program that their configuration puts in the place of the data folder', async () => {
    const evil = await program(backup, 'evil')
    await configure(`[url "ext::${evil} "]\n\tinsteadOf = ${grove.dataDir}\n[protocol "ext"]\n\tallow = always\n`)
    await expectHarmless()
  })

  it('copies no other repository that their configuration puts in the place of the data folder', async () => {
    const other = await newNode(grove, ann, { title: 'Another' })
    await configure(`[url "${other.git.dir}"]\n\tinsteadOf = ${node.git.dir}\n`)
    await expectHarmless()
    expect(mirror.run(['cat-file', '--batch-check'], { input: `${other.git.head()}\n` }).toString()).to.contain(
      'missing',
    )
  })
})
