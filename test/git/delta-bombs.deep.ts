/** Packs that are small and cost much: a push has a budget of CPU time, and pushes leave room for others. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { deltaBomb } from '../support/delta-bombs.ts'
import { type Desk, newDesk, openService, remoteUrl } from '../support/desk.ts'
import { askGit } from '../support/git-requests.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('git: packs that are small and cost much', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk

  before(async () => {
    grove = await startGrove({ pushCpuSeconds: 1, logLevel: 'info' })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    desk = await newDesk()
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })

  const command = (ref: string, capabilities: string) =>
    Buffer.concat([pktLine(`${'0'.repeat(40)} ${node.git.head()} ${ref}\0 ${capabilities}`), flush])

  const sentence = /git needs more than 1 s of CPU time for this push; push it in several parts, older commits first/

  for (const [what, deltas, base, capabilities] of [
    ['unpacked', 60, 'offset', 'report-status-v2 side-band-64k'],
    ['kept as they came', 120, 'id', 'report-status'],
  ] as const) {
    it(`are refused in a sentence once their CPU time is spent, and leave nothing, if they are ${what}`, async () => {
      const { accessToken } = ann.session
      const { status, body } = await askGit(
        grove,
        node,
        [command('refs/heads/bomb', capabilities), deltaBomb(32 * 2 ** 20, deltas, base)],
        { service: 'git-receive-pack', token: accessToken },
      )
      expect(`${status} ${body}`).to.match(/^200 /).and.include('ng refs/heads/bomb ')
      expect(body.toString()).to.match(sentence)
      await until(async () => (await workingIn(grove.dataDir)).length === 0)
      expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/main'])
      await until(() => readdirSync(join(node.git.dir, 'objects')).every((name) => !name.startsWith('tmp_objdir')))
      await until(() => sentence.test(grove.logged()))
      expect(grove.logged()).to.not.include('"level":50')
    })
  }

  it('do not keep the same person from an ordinary push', async () => {
    const url = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done(`git clone -q ${url} whales; cd whales; git commit -q --allow-empty -m x; git push -q`)
  })

  it('of two accounts, however many, leave room for the fetches and lists of others', async () => {
    const bob = await signUp(grove, 'Bob')
    const cid = await signUp(grove, 'Cid')
    const theirs = await newNode(grove, bob)
    const other = await newNode(grove, cid)
    const held = [ann, ann, ann, bob, bob, bob].map((person) => {
      const { org, id } = person === ann ? node : theirs
      const one = openService(grove, { org, id }, person.session.accessToken, 'git-receive-pack')
      one.on('error', () => undefined)
      one.write(Buffer.concat([command('refs/heads/held', 'report-status'), Buffer.from('PACK')]))
      return one
    })
    try {
      await until(async () => (await workingIn(grove.dataDir)).length >= 2)
      const url = remoteUrl(grove, other.org, other.id, cid.session.accessToken)
      await desk.done(
        `git ls-remote -q ${url}; git -c protocol.version=0 ls-remote -q ${url}; git clone -q ${url} other`,
      )
      await desk.done(`git -C other commit -q --allow-empty -m x; git -C other fetch -q`)
      expect(held.every(({ destroyed }) => !destroyed)).to.equal(true)
    } finally {
      for (const one of held) one.destroy()
    }
    await until(async () => (await workingIn(grove.dataDir)).length === 0)
  })
})
