/** Texts that are erased from the whole history of a node's ledger. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as cli } from '../support/command.ts'
import { expectSound } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { placesOf } from './erased-bytes.ts'
import { aProposal, bob, comment, cy, di, grove, nodes, type Proposal, pass, pull, review, useScene } from './scene.ts'

const secret = 'correct horse battery staple'

const erase = async ({ node }: Proposal, ...options: string[]) =>
  cli(grove.dataDir, 'erase', '--node', node.id, ...options)

/** The commits of the ledger without ids of commits and trees: parents after the first, signatures, dates, messages. */
const chain = ({ node }: Proposal, ref = 'refs/grove/ledger') =>
  node.git
    .lines('rev-list', '--first-parent', '--reverse', ref)
    .map((oid) => node.git.run(['cat-file', 'commit', oid]).toString())
    .map((text) => text.replace(/^tree .*\n(parent .*\n)?/, ''))

const timeline = async ({ path }: Proposal) => (await cy.get(`${path}/timeline?limit=200`).then(expecting(200))).body

describe('erasure', () => {
  useScene({ logLevel: 'error' })

  it('leaves no byte of a comment that was edited, quoted and deleted', async () => {
    const proposal = await aProposal(`Whales.\n${secret} sings.\n`)
    await comment(bob, proposal, 'Before.')
    const anchor = {
      commit: proposal.head,
      path: 'content.md',
      first_line: 2,
      quote: { exact: 'sings', prefix: `${secret} ` },
    }
    await comment(cy, proposal, 'hunter2 in a comment', { anchor, mentions: [bob.user.id] })
    await cy.patch(`${proposal.path}/comments/2`, { text: 'hunter2, and hunter3' }).then(expecting(200))
    pass(5)
    await comment(di, proposal, 'An answer.', { thread: 2 })
    await bob.patch(`${proposal.path}/threads/2`, { resolved: true }).then(expecting(200))
    await cy.delete(`${proposal.path}/comments/2`).then(expecting(204))
    const [before, commits] = [await timeline(proposal), chain(proposal)]
    expect(placesOf(proposal.node.git, 'hunter')).to.not.have.length(0)
    const { code, stdout } = await erase(proposal, '--entry', `${proposal.number}/2`)
    expect({ code, stdout }).to.deep.include({ code: 0 })
    expect(stdout).to.match(/: 5 commits rewritten, [1-9]\d+ objects removed\n/)
    for (const text of ['hunter2', 'hunter3']) expect(placesOf(proposal.node.git, text)).to.deep.equal([])
    const after = await timeline(proposal)
    const { anchor: place, edited_at, edited_by, mentions, ...rest } = before.entries[1].comment
    expect(after.entries[1].comment).to.deep.equal({
      ...rest,
      ...(edited_at && { edited_at, edited_by }),
      mentions: [],
      anchor: { commit: place.commit, path: place.path, first_line: 2, num_lines: 1 },
      ...{ erased_at: after.entries[1].comment.erased_at, erased_by: 'operator' },
    })
    after.entries[1] = before.entries[1]
    expect(after).to.deep.equal(before)
    const now = chain(proposal)
    expect(now.slice(0, -1)).to.deep.equal(commits)
    expect(now.at(-1)).to.match(/\n\nerase 1 2\n\nErased-From: [0-9a-f]{40}\n$/)
    proposal.node.git.fsck()
  })

  it('leaves rows as a rebuilt index has them, and clones without the text', async () => {
    const proposal = await aProposal()
    await review(cy, proposal, 'request_changes', { text: 'hunter2', comments: [{ text: 'hunter3' }] })
    await di.patch(`${proposal.path}/reviews/2`, { state: 'dismissed', reason: 'hunter4' }).then(expecting(200))
    await erase(proposal, '--pull', '1')
    const { title, description, comments } = await pull(proposal)
    expect({ title, description, comments }).to.deep.equal({ title: 'Erased', description: '', comments: 0 })
    for (const text of ['hunter2', 'hunter3', 'hunter4']) expect(placesOf(proposal.node.git, text)).to.deep.equal([])
    await expectSound(grove.dataDir)
    const folder = await mkdtemp(join(tmpdir(), 'grove-erased-'))
    try {
      execFileSync('git', ['clone', '-q', '--mirror', '--no-local', proposal.node.git.dir, folder])
      const git = {
        ...proposal.node.git,
        dir: folder,
        run: (args: readonly string[]) => execFileSync('git', args, { cwd: folder, maxBuffer: 1e9 }),
      }
      for (const text of ['hunter2', 'hunter3', 'hunter4']) expect(placesOf(git, text)).to.deep.equal([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('leaves repositories that git fsck finds clean, without marks', () => {
    for (const { git } of nodes) {
      git.fsck()
      expect(readdirSync(git.dir)).to.not.include('incoming')
    }
  })
})
