/** Storage that fails under a running service: what is answered, what is kept, and how it comes back. */

import { rm } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { commitOf } from './support/concurrency-rules.ts'
import { expectSound } from './support/data-folder.ts'
import { type Faults, prepareFaults } from './support/faults.ts'
import { newDataDir, type PersonClient, type SpawnedGrove, signUp, spawnGrove } from './support/grove.ts'
import { newNode, type TestNode } from './support/node.ts'

describe('a file system that cannot sync', () => {
  let faults: Faults
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let neighbour: TestNode

  before(async () => {
    faults = prepareFaults()
    grove = await spawnGrove(await newDataDir(), faults.environment)
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    neighbour = await newNode(grove, ann)
  })
  after(async () => {
    await grove?.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
    await faults.remove()
  })

  it('makes a commit 503 storage_error, and its repository readable only until a check has synced it', async () => {
    const write = (to: TestNode, message: string) => ann.post(`${to.at}/tree/main/commits`, commitOf(message))
    const before = await ann.get(node.at)
    await faults.ask('SYNC 0')
    const failed = await write(node, 'Fails')
    expect([failed.status, failed.body.code]).to.deep.equal([503, 'storage_error'])
    expect(Number(failed.headers['retry-after'])).to.be.greaterThan(0)
    expect(await ann.get(node.at)).to.deep.equal(before)
    await faults.none()
    // The syncs would succeed now, but what they did not reach is not known yet.
    const refused = await write(node, 'Too early')
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'storage_error'])
    expect(await ann.get(node.at)).to.deep.equal(before)
    expect((await write(neighbour, 'Beside it')).status).to.equal(201)
    let again = refused
    while (again.status === 503) {
      await setTimeout(100)
      again = await write(node, 'Works again')
    }
    expect(again.status).to.equal(201)
    expect(node.git.log()).to.have.length(2)
    expect(grove.output().stderr + grove.output().stdout).to.include('a sync failed')
    await expectSound(grove.dataDir)
  })
})
