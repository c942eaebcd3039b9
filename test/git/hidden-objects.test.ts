/** Hidden objects are not served by id. Clients that write their own requests get none either. */

import { expect } from 'chai'
import { delimiter, flush } from '../../gitstore/transfer/pkt-line.ts'
import { askGit, type GitAnswer } from '../support/git-requests.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('git: objects that are hidden', () => {
  const { grove, ann, rex } = useWorld({ ann: 'owner', rex: 'reader' })
  let node: TestNode
  let main: string
  /** A commit, its parent, its tree and a file of a branch that only members are shown. */
  let hidden: { commit: string; parent: string; tree: string; blob: string }
  let ledger: { commit: string; tree: string }

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    await node.branch('hidden')
    const parent = await node.commit('hidden', { 's.txt': 'TOPSECRET-41\n' })
    const commit = await node.commit('hidden', { 's.txt': 'TOPSECRET-42\n' })
    main = node.git.head()
    hidden = {
      commit,
      parent,
      tree: node.git.say('rev-parse', `${commit}^{tree}`),
      blob: node.git.say('rev-parse', `${commit}:s.txt`),
    }
    const ledgerHead = node.git.say('rev-parse', 'refs/grove/ledger')
    ledger = { commit: ledgerHead, tree: node.git.say('rev-parse', `${ledgerHead}^{tree}`) }
    await ann.patch(`/orgs/${node.org}`, { published: true })
  })

  const nothing = '1'.repeat(40)
  const capabilities = 'side-band-64k ofs-delta multi_ack_detailed'

  /** A fetch that wants `want`, with more lines of the part where wants stand. */
  function fetchOf(
    version: 0 | 1 | 2,
    want: string,
    lines: readonly string[] = [],
    token?: string,
  ): Promise<GitAnswer> {
    const frames =
      version === 2
        ? ['command=fetch', delimiter, `want ${want}`, ...lines, 'done', flush]
        : [`want ${want} ${capabilities}\n`, ...lines, flush, 'done\n']
    return askGit(grove, node, frames, { version, ...(token === undefined ? {} : { token }) })
  }

  const holdsPack = ({ body }: GitAnswer) => body.includes('PACK')
  /** The answer for an object that is hidden, and for one that does not exist. */
  const notOurRef = (oid: string) => `200 0049ERR upload-pack: not our ref ${oid.toLowerCase()}`
  const said = ({ status, body }: GitAnswer) => `${status} ${body.toString('latin1')}`

  /** As written, in upper case, and with one digit in upper case. */
  const spellings = (oid: string) => [oid, oid.toUpperCase(), oid.replace(/[a-f]/, (digit) => digit.toUpperCase())]

  for (const version of [0, 1, 2] as const) {
    it(`are served to nobody who is not shown them, however their ids are spelt, over v${version}`, async () => {
      for (const oid of [...Object.values(hidden), ...Object.values(ledger)])
        for (const want of spellings(oid)) {
          const answer = await fetchOf(version, want)
          expect(said(answer), want).to.equal(notOurRef(want))
        }
      for (const want of spellings(main)) expect(holdsPack(await fetchOf(version, want)), want).to.equal(true)
    })

    it(`are served to a reader if they are on a branch, and never if they are the service's own, over v${version}`, async () => {
      const { accessToken } = rex.session
      for (const oid of Object.values(hidden))
        expect(holdsPack(await fetchOf(version, oid, [], accessToken)), oid).to.equal(true)
      for (const oid of Object.values(ledger))
        for (const want of spellings(oid))
          expect(said(await fetchOf(version, want, [], accessToken))).to.equal(notOurRef(want))
      expect(holdsPack(await fetchOf(version, ledger.commit, [], ann.session.accessToken))).to.equal(true)
    })

    it(`and have names that deepen-not does not reveal over v${version}`, async () => {
      const told = async (name: string) =>
        said(await fetchOf(version, main, [`deepen-not ${name}`])).replace(/^(\d+ )[0-9a-f]{4}(.*)".*"$/s, '$1$2')
      const unknown = await told('nothing')
      expect(unknown).to.equal('200 ERR deepen-not names no ref, or several: ')
      for (const name of ['hidden', 'heads/hidden', 'refs/heads/hidden', 'refs/grove/ledger', 'grove/ledger'])
        expect(await told(name), name).to.equal(unknown)
    })

    it.deep(`are acknowledged no more than what does not exist over v${version}`, async () => {
      const acknowledged = async (oid: string) => {
        const frames =
          version === 2
            ? ['command=fetch', delimiter, `want ${main}`, `have ${oid}`, flush]
            : [`want ${main} ${capabilities}\n`, flush, `have ${oid}\n`, flush]
        return said(await askGit(grove, node, frames, { version }))
      }
      const unknown = await acknowledged(nothing)
      expect(unknown).to.include('NAK').and.not.include('ACK ')
      for (const oid of [...Object.values(hidden), ledger.commit])
        for (const have of spellings(oid)) expect(await acknowledged(have), have).to.equal(unknown)
      expect(await acknowledged(main.toUpperCase())).to.include(`ACK ${main}`)
    })

    it(`do not bring their parents if they are named as shallow over v${version}`, async () => {
      const { body } = await fetchOf(version, main, [`shallow ${hidden.commit}`, 'deepen 2147483647'])
      expect(body.includes('unshallow')).to.equal(false)
      // In front of the names of objects in a pack stands how many there are.
      const plain = await fetchOf(version, main)
      const objects = (bytes: Buffer) => bytes.readUInt32BE(bytes.indexOf('PACK') + 8)
      expect(objects(body)).to.equal(objects(plain.body))
    })
  }

  it('have no size for those who are not shown them, nor for others: object-info is not offered', async () => {
    const frames = ['command=object-info', delimiter, 'size', `oid ${hidden.commit}`, flush]
    expect((await askGit(grove, node, frames)).status).to.equal(400)
    expect((await askGit(grove, node, frames, { token: ann.session.accessToken })).status).to.equal(400)
  })

  it('stay hidden after their branch has gone', async () => {
    await ann.delete(`${node.at}/branches/hidden`)
    expect(said(await fetchOf(2, hidden.commit))).to.equal(notOurRef(hidden.commit))
    expect(said(await fetchOf(2, hidden.commit, [], rex.session.accessToken))).to.equal(notOurRef(hidden.commit))
    expect(said(await fetchOf(2, nothing))).to.equal(notOurRef(nothing))
  })

  it('are not shown for a branch below the name main, if there is no main', async () => {
    const other = await newNode(grove, ann, { initialize: false })
    const commit = node.git.run(['cat-file', 'commit', hidden.commit]).toString()
    const tree = other.git.say('hash-object', '-t', 'tree', '-w', '--stdin')
    const lone = other.git.run(['hash-object', '-t', 'commit', '-w', '--stdin'], {
      input: commit.replace(/^tree .*$/m, `tree ${tree}`).replace(/^parent .*\n/gm, ''),
    })
    other.git.point('main/secret', lone.toString().trim())
    const listed = await askGit(grove, other, ['command=ls-refs', delimiter, 'symrefs', flush])
    expect(said(listed)).to.equal('200 0000')
    const path = `/git/${other.org}/${other.id}.git/info/refs?service=git-upload-pack`
    expect((await client(grove).get(path)).body).to.not.include('main/secret')
  })
})
