/** `grove restore` and `grove doctor` after an erasure that a copy does not have. */

import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { placesOf } from '../review/erased-bytes.ts'
import { gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { cli, folder, useDesk } from './desk.ts'

describe('an erasure', () => {
  useDesk()

  let dataDir: string
  let backup: string
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let pull: string
  /** The copy of the node that the first backup made. */
  let older: string

  before(async () => {
    dataDir = await folder()
    backup = join(await folder(), 'backup')
    older = join(await folder(), 'older.git')
    grove = await startGrove({ dataDir })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { title: 'Whales' })
    await node.proposal('draft')
    await node.open('draft')
    pull = `${node.at}/pull-requests/1`
    for (const text of ['The patient is Zed.', 'Kept.', 'Zed is ill.'])
      await ann.post(`${pull}/comments`, { text }).then(expecting(201))
    await cli(dataDir, 'backup', backup)
    await cp(join(backup, node.org, `${node.id}.git`), older, { recursive: true })
    await ann.post(`${pull}/entries/1/erase`, {}).then(expecting(200))
    const erased = await cli(dataDir, 'erase', '--node', node.id, '--entry', '1/3')
    expect(erased.code, erased.stdout).to.equal(0)
  })
  after(() => grove.close())

  it('leaves a backup that is made after it without the text', async () => {
    const later = join(await folder(), 'later')
    expect((await cli(dataDir, 'backup', later)).code).to.equal(0)
    expect((await cli(dataDir, 'backup', backup)).code).to.equal(0)
    const ledgerIn = (dir: string) => gitIn({ dataDir: dir }, node.org, node.id).say('rev-parse', 'refs/grove/ledger')
    expect(ledgerIn(backup)).to.equal(ledgerIn(dataDir))
    expect(placesOf(gitIn({ dataDir: later }, node.org, node.id), 'Zed')).to.deep.equal([])
  })

  it('is named by restore with its command if the copy of the node is older', async () => {
    await cli(dataDir, 'backup', backup)
    const copy = join(backup, node.org, `${node.id}.git`)
    await rm(copy, { recursive: true })
    await cp(older, copy, { recursive: true })
    const target = await folder()
    const { stdout, stderr } = await cli(target, 'restore', backup)
    const name = `${node.org}/${node.id}`
    const warned = [...stdout.matchAll(/^erased at (\S+Z), and is there again; run: grove (.+)$/gm)]
    expect(
      warned.map(([, , command]) => command),
      stdout + stderr,
    ).to.deep.equal([`erase --node ${name} --entry 1/1`, `erase --node ${name} --entry 1/3`])
    const doctor = await cli(target, 'doctor')
    for (const [, at, command] of warned)
      expect(doctor.stdout).to.contain(`erased at ${at}, and is there again; run grove ${command}\n`)
    for (const [, , command = ''] of warned) expect((await cli(target, ...command.split(' '))).code).to.equal(0)
    expect((await cli(target, 'doctor')).stdout).to.contain('OK: no problems found')
    const second = await startGrove({ dataDir: target })
    try {
      const { body } = await client(second, ann.session.accessToken).get(`${pull}/timeline`)
      expect(body.entries.map((one: Answer['body']) => one.comment.text)).to.deep.equal(['', 'Kept.', ''])
      expect(placesOf(gitIn(second, node.org, node.id), 'Zed')).to.deep.equal([])
    } finally {
      await second.close()
    }
  })
})
