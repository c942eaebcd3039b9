import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { converse } from '../support/conversation.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { everythingIn } from '../support/everything.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

describe('git: mirrors of an organisation over HTTP', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let ann: PersonClient
  let desk: Desk

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir)
    ann = await signUp(grove, 'Ann')
    desk = await newDesk()
  })
  after(async () => {
    await desk.remove()
    await grove.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('are made by the shell of spec/git.md and restore everything that the owner could read', async () => {
    const bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'reader' }).then(expecting(200))
    const whales = await newNode(grove, ann, { text_content: 'Whales.\n', tags: ['sea'] })
    await newNode(grove, ann, { title: 'Blue', parents: [whales.id] })
    for (const name of ['merged', 'closed', 'open']) {
      await whales.proposal(name)
      const { number } = await whales.open(name)
      await converse(`${whales.at}/pull-requests/${number}`, ann, bob)
      if (name === 'merged') await ann.post(`${whales.at}/pull-requests/${number}/merge`, {}).then(expecting(200))
      if (name === 'closed') await ann.delete(`${whales.at}/branches/closed`).then(expecting(204))
    }
    // Published: a clone without a token has main and tags alone.
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const before = await everythingIn(grove, ann.session.accessToken, [ann.org], ['whales'])
    const { token } = (await ann.post('/auth/tokens', { name: 'Backup', access: 'read', org_id: ann.org })).body

    const page = await readFile(resolve('spec/git.md'), 'utf8')
    const [, shell = ''] = /<!-- mirror over http -->\s+```sh\n([\s\S]*?)```/.exec(page) ?? []
    expect(shell).to.match(/xargs/)
    await desk.done(`mkdir copy; cd copy; ${shell}`, { GROVE: grove.url, ORG: ann.org, TOKEN: token })
    await grove.stop()
    await rm(dataDir, { recursive: true })

    const restored = await desk.done(`cd ${resolve('.')}; "$NODE" dist/cli.js restore ${join(desk.dir, 'copy')}`, {
      NODE: process.execPath,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
    })
    expect(restored).to.include('1 organisation and 2 nodes restored')
    const [, reset_token] = /^ann@example\.org (grv_reset_\S+)$/m.exec(restored) ?? []
    grove = await spawnGrove(dataDir)
    const { body: session } = await client(grove).post('/auth/password', {
      reset_token,
      new_password: 'another long one',
    })
    expect(await everythingIn(grove, session.accessToken, [ann.org], ['whales'])).to.deep.equal(before)
  })
})
