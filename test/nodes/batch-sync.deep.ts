/** A batch is made durable by `sync -f`, if the machine has it. */

import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'

describe('a batch of nodes, where sync', () => {
  /** More than are synced file by file. */
  const nodes = [{ ref: 'a', title: 'A' }, ...['B', 'C', 'D', 'E'].map((title) => ({ title, parents: ['a'] }))]

  /** A service that finds this script in the place of `sync`. */
  async function beside(script: string) {
    const dataDir = await newDataDir()
    const programs = join(dataDir, 'tmp-programs')
    await mkdir(programs)
    await writeFile(join(programs, 'sync'), `#!/bin/sh\n${script}\n`)
    await chmod(join(programs, 'sync'), 0o755)
    const grove = await spawnGrove(dataDir, { PATH: `${programs}:${process.env.PATH}` })
    const ann = await signUp(grove, 'Ann')
    return {
      post: () => ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }),
      names: () => readdir(join(dataDir, ann.org)),
      close: async () => {
        await grove.stop()
        await rm(dataDir, { recursive: true, force: true })
      },
    }
  }

  it('fails, is refused, and nothing of it is there', async () => {
    const { post, names, close } = await beside('echo "sync: error syncing: Input/output error" >&2; exit 1')
    const { status, body } = await post()
    expect([status, body.code]).to.deep.equal([503, 'storage_error'])
    expect(await names()).to.deep.equal(['org.git'])
    await close()
  })

  it('cannot sync one file system, is synced file by file', async () => {
    const { post, names, close } = await beside('echo "sync: invalid option -- f" >&2; exit 1')
    expect((await post()).status).to.equal(201)
    expect(await names()).to.have.length(1 + nodes.length)
    expect((await post()).status).to.equal(201)
    await close()
  })
})
