/** Fetches that git refuses: the reason reaches the person as a sentence, and the log has no fault. */

import { expect } from 'chai'
import { delimiter, flush } from '../../gitstore/transfer/pkt-line.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { askGit } from '../support/git-requests.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: a fetch that is refused', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { logLevel: 'warn' })
  let node: TestNode
  let desk: Desk
  let url: string

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    await node.commit('main', { 'a.txt': 'a\n' })
    await ann.patch(`/orgs/${node.org}`, { published: true })
    desk = await newDesk()
    url = remoteUrl(grove, node.org, node.id)
    await desk.done(`git clone -q ${url} whales`)
  })
  afterEach(() => {
    expect(grove.logged()).to.equal('')
  })
  after(() => desk.remove())

  const owner = () => remoteUrl(grove, node.org, node.id, ann.session.accessToken)

  /** As a client writes it that git would never be. */
  function askFor(version: 0 | 1 | 2, want: string, ...lines: readonly string[]) {
    const frames =
      version === 2
        ? ['command=fetch', delimiter, `want ${want}`, ...lines, 'done', flush]
        : [`want ${want} side-band-64k filter\n`, ...lines, flush, 'done\n']
    return askGit(grove, node, frames, { version, token: ann.session.accessToken })
  }

  for (const version of [0, 1, 2] as const) {
    const git = `git -c protocol.version=${version}`

    it(`since nothing is left of a shallow clone, says so over v${version}`, async () => {
      for (const from of [url, owner()])
        for (const depth of ['--shallow-since=2099-01-01', '--shallow-exclude=main']) {
          const { code, text } = await desk.sh(`${git} clone ${depth} ${from} none`)
          expect(code, text).to.equal(128)
          expect(text, depth).to.match(
            /fatal: remote error: no commits selected for shallow requests: the date or the ref to exclude leaves none; choose another one$/m,
          )
        }
      const { text } = await desk.sh(`cd whales; ${git} fetch --shallow-since=2099-01-01`)
      expect(text).to.include('remote error: no commits selected for shallow requests')
    })

    it(`because its commit is not published, names the commit over v${version}`, async () => {
      await node.branch(`hidden${version}`)
      const hidden = await node.commit(`hidden${version}`, { 's.txt': `${version}\n` })
      const said = async (oid: string, from = url) => {
        const { code, text } = await desk.sh(`cd whales; ${git} fetch ${from} ${oid}`)
        expect(code, text).to.be.above(0)
        return text.replaceAll(oid, 'ID')
      }
      const nothing = '1'.repeat(40)
      // In v0 the client looks among the refs that it is shown, and asks for nothing.
      const reason = version === 2 ? /fatal: remote error: upload-pack: not our ref ID\n$/ : /ID/
      expect(await said(hidden))
        .to.match(reason)
        .and.equal(await said(nothing))
      if (version === 2) expect(await said(nothing, owner())).to.match(reason)
    })

    it(`because it names a shallow object that is not a commit, is not a fault of the service over v${version}`, async () => {
      const blob = node.git.say('rev-parse', 'main:content.md')
      const { status, body } = await askFor(version, node.git.head(), `shallow ${blob}`, 'deepen 1')
      expect(status).to.equal(200)
      expect(body.toString('latin1')).to.match(/ERR an object that you name as shallow is not a commit; clone again$/)
    })

    it(`since its filter is larger than any size, or it wants what is not there, is told once over v${version}`, async () => {
      const filtered = await askFor(version, node.git.head(), 'filter blob:limit=999999999999999g')
      expect(`${filtered.status} ${filtered.body}`).to.match(/^200 ....ERR filter "blob:limit=9+g" is not supported;/)
      const unknown = '1'.repeat(40)
      const { status, body } = await askFor(version, unknown)
      expect(`${status} ${body}`).to.equal(`200 0049ERR upload-pack: not our ref ${unknown}`)
    })
  }
})
