/** Ledgers that were edited by hand: what is shown of them, and that nothing is blocked or lost. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aProposal, bob, comment, cy, grove, ledgerFile, nodes, type Proposal, pull, useScene } from './scene.ts'

describe('a ledger that was edited by hand', () => {
  useScene({ logLevel: 'error' })

  const write = ({ node: { git } }: Proposal, files: Record<string, string | null>) => {
    const parents = [git.say('rev-parse', 'refs/grove/ledger')]
    git.say('update-ref', 'refs/grove/ledger', git.commit({ files, parents, message: 'by hand' }))
  }
  const first = 'reviews/0/0/1/0/1.json'
  const timeline = async ({ path }: Proposal) => {
    const { entries } = (await cy.get(`${path}/timeline`).then(expecting(200))).body
    return entries.map((one: Record<string, unknown>) => `${one.entry} ${one.kind}`)
  }

  it('shows and logs a damaged entry, and takes comments, merges and commits as before', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    write(proposal, { [first]: '{"kind":"comment","text":"First."}' })
    expect(await timeline(proposal)).to.deep.equal(['1 damaged'])
    expect(grove.logged()).to.include(
      `"nodeId":"${proposal.node.id}","count":1,"damaged":["${first}"],"msg":"files of the ledger are not comments, reviews or events"`,
    )
    expect((await comment(bob, proposal, 'Second.')).entry).to.equal(2)
    expect((await cy.patch(`${proposal.path}/comments/1`, { text: 'x' })).body.code).to.equal('comment_not_found')
    await proposal.node.commit('draft', { 'more.md': 'More.' })
    await ann.post(`${proposal.path}/merge`).then(expecting(200))
    expect(await timeline(proposal)).to.deep.equal(['1 damaged', '2 comment', '3 event'])
  })

  it('has no open thread that cannot be resolved, because its first comment is damaged or an answer', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    await comment(bob, proposal, 'An answer.', { thread: 1 })
    await comment(ann, proposal, 'Another.')
    write(proposal, {
      'reviews/0/0/1/0/3.json': JSON.stringify({ ...ledgerFile(proposal, 'reviews/0/0/1/0/3.json'), thread: 2 }),
    })
    expect(await pull(proposal)).to.deep.include({ comments: 3, open_threads: 1 })
    expect((await cy.get(`${proposal.path}/threads`)).body.total).to.equal(1)
    write(proposal, { [first]: '' })
    expect(await pull(proposal)).to.deep.include({ comments: 2, open_threads: 0 })
    expect((await cy.get(`${proposal.path}/threads`)).body.total).to.equal(0)
    expect(await timeline(proposal)).to.deep.equal(['1 damaged', '2 comment', '3 comment'])
  })

  it('never loses an entry to a new one, although the folder of the greatest has other files', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    const record = proposal.node.git.say('show', `refs/grove/ledger:${first}`)
    write(proposal, {
      'reviews/0/0/1/7/read.me': 'x',
      'reviews/0/0/1/8/3.json': record,
      'reviews/0/0/1/0/0.json': record,
    })
    expect((await comment(bob, proposal, 'Second.')).entry).to.equal(2)
    expect(ledgerFile(proposal, first).text).to.equal('First.')
    expect(await timeline(proposal)).to.deep.equal(['1 comment', '2 comment'])
  })

  it('is read although its JSON is deeper than SQLite reads, and mentions are not ids', async () => {
    const proposal = await aProposal()
    const head = { head: proposal.head, base: proposal.base, target_branch: 'main', comments: [] }
    const by = { id: bob.user.id, name: 'Bob', email: 'bob@example.org' }
    const said = { id: bob.user.id, by, at: '2026-01-01T00:00:00Z', text: 'x', ...head }
    const deep = `{"later":${'['.repeat(1_500)}${']'.repeat(1_500)},`
    const verdict = JSON.stringify({ kind: 'verdict', verdict: 'approve', ...said })
    const mentions = ['\ud800', '\ud801', cy.user.id, cy.user.id]
    write(proposal, {
      [first]: verdict.replace('{', deep),
      'reviews/0/0/1/0/2.json': JSON.stringify({ kind: 'comment', ...said, mentions }),
      'reviews/0/0/1/0/3.json': verdict.replace('{', '{"later":[[[]]],'),
    })
    expect(await timeline(proposal)).to.deep.equal(['1 damaged', '2 comment', '3 review'])
    expect((await pull(proposal)).consent.approvals).to.equal(1)
  })

  it('counts the entries of a pull request whose record was away for a time', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    const path = 'pulls/0/0/1.json'
    const record = proposal.node.git.say('show', `refs/grove/ledger:${path}`)
    write(proposal, { [path]: null })
    expect((await ann.get(proposal.path)).status).to.equal(404)
    write(proposal, { [path]: record })
    expect(await pull(proposal)).to.deep.include({ comments: 1, open_threads: 1 })
  })

  it('may name a submodule where an entry was', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    const { git } = proposal.node
    const parents = [git.say('rev-parse', 'refs/grove/ledger')]
    const files = { [first]: { mode: '160000', oid: proposal.head } }
    git.say('update-ref', 'refs/grove/ledger', git.commit({ files, parents, message: 'by hand' }))
    expect(await timeline(proposal)).to.deep.equal([])
    expect((await comment(cy, proposal, 'Second.')).entry).to.equal(2)
  })

  it('may have more names than those of any other tree, as with 50,000 merged pull requests', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'First.')
    const { git } = proposal.node
    const ref = 'refs/grove/ledger'
    const blob = git.say('rev-parse', `${ref}:last`)
    const names = Array.from({ length: 201_000 }, (_, n) => `M 100644 ${blob} more/${Math.floor(n / 1_000)}/${n}\n`)
    const head = `commit ${ref}\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 7\nby hand\nfrom ${ref}^0\n`
    git.run(['fast-import', '--quiet'], { input: head + names.join('') })
    expect((await comment(bob, proposal, 'Second.')).entry).to.equal(2)
    expect(await timeline(proposal)).to.deep.equal(['1 comment', '2 comment'])
  })

  it('leaves repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
})
