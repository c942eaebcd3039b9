/** Texts that are erased from the whole history of a node's ledger. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { grove as cli } from '../support/command.ts'
import { expectSound } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { type Answer, signUp } from '../support/people.ts'
import { placesOf } from './erased-bytes.ts'
import {
  ann,
  aProposal,
  bob,
  comment,
  cy,
  di,
  grove,
  ledgerFile,
  nodes,
  type Proposal,
  pass,
  pull,
  review,
  useScene,
} from './scene.ts'

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

  it('reaches packs with bitmaps, a multi-pack-index, a commit-graph, reflogs and an operator’s mark', async () => {
    const proposal = await aProposal()
    const { git } = proposal.node
    await comment(bob, proposal, 'First.')
    git.say('-c', 'gc.auto=0', 'repack', '-adq')
    await comment(cy, proposal, 'hunter2 of the packs')
    git.say('-c', 'core.logAllRefUpdates=always', 'update-ref', 'refs/heads/other', proposal.head)
    git.say('reflog', 'expire', '--expire=never', '--all')
    git.say('repack', '-dq')
    for (const pack of readdirSync(join(git.dir, 'objects/pack'))
      .filter((name) => name.endsWith('.pack'))
      .slice(0, 1))
      writeFileSync(join(git.dir, 'objects/pack', pack.replace('.pack', '.keep')), 'an operator keeps it\n')
    git.say('multi-pack-index', 'write', '--bitmap')
    git.say('commit-graph', 'write', '--reachable')
    await comment(di, proposal, 'Third, loose.')
    const before = await timeline(proposal)
    const { code, stderr } = await erase(proposal, '--entry', '1/2')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(placesOf(git, 'hunter2')).to.deep.equal([])
    const names = readdirSync(join(git.dir, 'objects/pack'))
    const keeps = names
      .filter((name) => name.endsWith('.keep'))
      .map((name) => readFileSync(join(git.dir, 'objects/pack', name), 'utf8'))
    expect(keeps.filter((text) => text !== 'an operator keeps it\n')).to.deep.equal([])
    expect(names).to.not.include('multi-pack-index')
    git.say('fsck', '--full', '--strict')
    const after = await timeline(proposal)
    expect([after.entries[0], after.entries[2]]).to.deep.equal([before.entries[0], before.entries[2]])
    git.say('gc', '-q', '--prune=now')
    expect((await comment(bob, proposal, 'Fourth.')).entry).to.equal(4)
  })

  it('is an owner’s, keeps the reason, and may be repeated', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'hunter2 of the owner')
    const at = `${proposal.path}/entries/1/erase`
    const { body } = await ann.post(at, { reason: 'It names a patient.' }).then(expecting(200))
    expect(body).to.deep.include({ entry: 1, commits_rewritten: 1 })
    expect(body.not_reached.map(({ code }: { code: string }) => code)).to.deep.equal([
      'clones',
      'backups',
      'database',
      'messages',
      'quotes',
    ])
    expect(placesOf(proposal.node.git, 'hunter2')).to.deep.equal([])
    const again = (await ann.post(at, {}).then(expecting(200))).body
    expect(again).to.deep.include({ commits_rewritten: 0, objects_removed: 0 })
    const { erased, text } = ledgerFile(proposal, 'reviews/0/0/1/0/1.json')
    expect({ text, by: erased.by.name, reason: erased.reason }).to.deep.equal({
      text: '',
      by: 'Ann',
      reason: 'It names a patient.',
    })
    expect((await ann.post(`${proposal.path}/entries/9/erase`, {})).body.code).to.equal('entry_not_found')
    expect((await cy.patch(`${proposal.path}/comments/1`, { text: 'Again.' })).body.code).to.equal('comment_deleted')
    await cy.delete(`${proposal.path}/comments/1`).then(expecting(204))
    expect((await timeline(proposal)).entries[0].comment).to.include({ text: '', erased_by: 'Ann' })
    expect((await ann.get(proposal.path)).body.pr).to.include({ comments: 0, open_threads: 0 })
  })

  it('erases the name and the addresses of a user from the ledger', async () => {
    const proposal = await aProposal()
    const zoe = await signUp(grove, 'Zoe Quux')
    await ann.put(`/orgs/${ann.org}/members/${zoe.user.email}`, { role: 'reader' }).then(expecting(200))
    await comment(zoe, proposal, 'Mine.')
    await ann.patch(proposal.path, { reviewers: [zoe.user.id] }).then(expecting(200))
    await review(zoe, proposal, 'approve')
    const commits = chain(proposal)
    const { code } = await erase(proposal, '--person', zoe.user.id)
    expect(code).to.equal(0)
    for (const text of ['Zoe', zoe.user.email]) expect(placesOf(proposal.node.git, text)).to.deep.equal([])
    const hidden = `${zoe.user.id}@users.noreply.invalid`
    const renamed = commits.map((text) => text.replaceAll(`Zoe Quux <${zoe.user.email}>`, `Deleted person <${hidden}>`))
    expect(chain(proposal).slice(0, -1)).to.deep.equal(renamed)
    const { entries } = await timeline(proposal)
    expect(entries[0].comment).to.include({
      author: 'Deleted person',
      author_email: hidden,
      author_id: zoe.user.id,
      text: 'Mine.',
    })
    expect((await pull(proposal)).reviewers[0]).to.include({ name: 'Deleted person', user_id: zoe.user.id })
    const all = await cli(grove.dataDir, 'erase', '--org', ann.org, '--person', zoe.user.id)
    expect(all.code).to.equal(0)
    expect(all.stdout).to.match(/because it was erased before; 0 objects removed\n/)
    expect(all.stdout).to.match(/\n0 of \d+ ledgers named the user, and 1 did before an earlier erasure\n/)
  })

  it('drops a head that was reviewed, unless a branch still has it', async () => {
    const proposal = await aProposal('hunter2 in a page')
    const { git } = proposal.node
    await comment(cy, proposal, 'Better not.')
    const kept = await erase(proposal, '--head', proposal.head)
    expect(kept.code).to.equal(1)
    expect(kept.stdout).to.contain('nothing was erased, because refs/heads/draft still has the head')
    git.point('draft', git.commit({ files: { 'content.md': 'Clean.\n' }, parents: [proposal.base] }))
    await ann.get(proposal.node.at).then(expecting(200))
    const before = await timeline(proposal)
    const { code, stdout } = await erase(proposal, '--head', proposal.head)
    expect({ code, stdout }).to.deep.include({ code: 0 })
    expect(placesOf(git, 'hunter2')).to.deep.equal([])
    expect(await timeline(proposal)).to.deep.equal(before)
    git.fsck()
  })

  it('keeps comments that are written while it runs, and two run at once', async () => {
    const proposal = await aProposal()
    for (let n = 1; n <= 40; n++) await comment(cy, proposal, `hunter${n}.`)
    const erasing = [
      ann.post(`${proposal.path}/entries/3/erase`, {}).then(expecting(200)),
      erase(proposal, '--entry', '1/7'),
      ann.post(`${proposal.path}/entries/9/erase`, {}).then(expecting(200)),
      erase(proposal, '--entry', '1/7'),
    ]
    const writing = Array.from({ length: 60 }, (_, n) => comment(n % 2 ? cy : bob, proposal, `Late ${n}.`))
    const written = await Promise.all(writing)
    await Promise.all(erasing)
    const { entries } = await timeline(proposal)
    const texts = entries.map(({ comment: { text } }: Answer['body']) => text)
    expect(texts.slice(0, 40)).to.deep.equal(
      Array.from({ length: 40 }, (_, n) => ([3, 7, 9].includes(n + 1) ? '' : `hunter${n + 1}.`)),
    )
    for (const { entry, text } of written) expect(texts[entry - 1]).to.equal(text)
    expect(texts).to.have.length(100)
    for (const n of [3, 7, 9]) expect(placesOf(proposal.node.git, `hunter${n}.`)).to.deep.equal([])
    proposal.node.git.fsck()
    expect(readdirSync(join(proposal.node.git.dir, 'erasing'))).to.deep.equal([])
  })

  it('is named by doctor while it is unfinished, and when an older copy comes back', async () => {
    const proposal = await aProposal()
    const { git, org, id } = proposal.node
    await comment(cy, proposal, 'hunter2 comes back')
    const folder = await mkdtemp(join(tmpdir(), 'grove-erased-'))
    try {
      execFileSync('git', ['clone', '-q', '--mirror', '--no-local', git.dir, folder])
      await ann.post(`${proposal.path}/entries/1/erase`, {}).then(expecting(200))
      const old = execFileSync('git', ['rev-parse', 'refs/grove/ledger'], { cwd: folder }).toString().trim()
      writeFileSync(join(git.dir, 'erasing', old), '')
      const unfinished = await cli(grove.dataDir, 'doctor')
      expect(unfinished.stdout).to.contain(`${org}/${id}.git: an erasure is running or was interrupted`)
      expect((await erase(proposal, '--entry', '1/1')).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.contain('OK: no problems found')
      git.say('fetch', '-q', folder, '+refs/grove/ledger:refs/grove/ledger')
      await ann.get(proposal.node.at).then(expecting(200))
      const back = await cli(grove.dataDir, 'doctor')
      const command = `grove erase --node ${org}/${id} --entry 1/1`
      expect(back.stdout).to.contain(`and is there again; run ${command}\n`)
      expect((await cli(grove.dataDir, ...command.split(' ').slice(1))).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.contain('OK: no problems found')
      expect(placesOf(git, 'hunter2')).to.deep.equal([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('says what is wrong with a command', async () => {
    const { node } = await aProposal()
    const refused: [string[], string][] = [
      [['--node', node.id], 'Use one of --entry, --pull, --person and --head'],
      [['--entry', '1/1'], 'Use either --node or --org'],
      [['--org', node.org, '--entry', '1/1'], '--org needs --person'],
      [['--node', node.id, '--entry', '1'], '--entry must be NUMBER/ENTRY: 1'],
      [['--node', node.id, '--pull', '0'], '--pull must be the number of a pull request: 0'],
      [['--node', node.id, '--person', 'Ann'], '--person must be a user id: Ann'],
      [['--node', node.id, '--head', 'main'], '--head must be the whole id of a commit: main'],
      [['--node', 'x', '--pull', '1'], 'x is not NODE_ID or ORG_ID/NODE_ID'],
      [['--node', randomUUID(), '--pull', '1'], ' is not in this data folder; a deleted node must be restored first'],
    ]
    for (const [options, message] of refused) {
      const { code, stderr } = await cli(grove.dataDir, 'erase', ...options)
      expect({ options, code }).to.deep.equal({ options, code: 2 })
      expect(stderr).to.contain(message)
    }
  })

  it('ends with 1 for what nothing has, and says so', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await comment(cy, proposal, 'Kept.')
    const [nobody, zeros, name] = [randomUUID(), '0'.repeat(40), `${node.org}/${node.id}`]
    const blob = node.git.say('rev-parse', 'main:content.md')
    const ledger = node.git.say('rev-parse', 'refs/grove/ledger')
    const wrong: [string[], string][] = [
      [['--entry', '1/999'], 'Pull request 1 has no entry 999; see its timeline for the number'],
      [['--entry', '999/1'], 'The node has no pull request 999; see its list for the number'],
      [['--pull', '999'], 'The node has no pull request 999; see its list for the number'],
      [['--person', nobody], `nothing in the ledger names the user ${nobody}; check the id`],
      [['--head', zeros], `The node has no commit ${zeros}; it is gone, or the id is wrong: check the id`],
      [['--head', blob], `The node has no commit ${blob}; it is gone, or the id is wrong: check the id`],
      [['--head', ledger], `${ledger} is a commit of the ledger itself; name a head that was reviewed`],
    ]
    for (const [options, message] of wrong) {
      const { code, stdout } = await erase(proposal, ...options)
      expect({ options, code, line: stdout.split('\n')[0] }).to.deep.equal({
        options,
        code: 1,
        line: `${name}: ${message}`,
      })
    }
    expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(ledger)
    const all = await cli(grove.dataDir, 'erase', '--org', ann.org, '--person', nobody)
    expect(all.code).to.equal(0)
    expect(all.stdout).to.match(/\n0 of \d+ ledgers? named the user; check the id\n/)
    const missing = await ann.post(`${proposal.path}/entries/999/erase`, {})
    expect(missing.body).to.include({ code: 'entry_not_found', detail: wrong[0]?.[1] })
    const unknown = await ann.post(`${node.at}/pull-requests/999/entries/1/erase`, {})
    expect(unknown.body.code).to.equal('pull_request_not_found')
  })

  it('succeeds when it is repeated, also for a head and a user', async () => {
    const proposal = await aProposal('hunter2 in a page')
    const { git, org, id } = proposal.node
    await comment(cy, proposal, 'Better not.')
    await comment(bob, proposal, 'Neither.')
    git.point('draft', git.commit({ files: { 'content.md': 'Clean.\n' }, parents: [proposal.base] }))
    await ann.get(proposal.node.at).then(expecting(200))
    const targets = [
      ['--entry', '1/1'],
      ['--pull', '1'],
      ['--person', cy.user.id],
      ['--head', proposal.head],
    ]
    for (const target of targets) {
      const first = await erase(proposal, ...target)
      expect(first, first.stdout).to.include({ code: 0 })
      expect(first.stdout).to.match(/: [1-9]\d* commits? rewritten, /)
      const again = await erase(proposal, ...target)
      expect(again, again.stdout).to.include({ code: 0 })
      const line = `${org}/${id}: nothing to rewrite, because it was erased before; 0 objects removed\n`
      expect(again.stdout).to.contain(line)
    }
  })

  it('changes nothing but the erased entry in each commit of any history', async () => {
    const act = fc.tuple(
      fc.constantFrom('comment', 'answer', 'edit', 'delete', 'resolve', 'retitle', 'dismiss'),
      fc.nat(50),
      fc.nat(50),
    )
    const property = fc.asyncProperty(
      fc.array(act, { minLength: 5, maxLength: 25 }),
      fc.nat(50),
      fc.boolean(),
      async (acts, which, isPull) => {
        const proposal = await aProposal()
        await review(cy, proposal, 'request_changes', { text: 'Secret 0' })
        for (const [n, [name, a, b]] of acts.entries()) await perform(proposal, name, a, b, n)
        const { git } = proposal.node
        const before = history(git.dir)
        const { entries } = await timeline(proposal)
        const entry = 1 + (which % entries.length)
        const { code } = await erase(proposal, ...(isPull ? ['--pull', '1'] : ['--entry', `1/${entry}`]))
        expect(code).to.equal(0)
        const after = history(git.dir)
        const isSealed = /^erase/.test(after.at(-1)?.message ?? '')
        const compared = isSealed ? after.slice(0, -1) : after
        expect(unstamped(compared)).to.deep.equal(
          before.map((commit) => naivelyErased(commit, isPull ? undefined : entry)),
        )
        if (isSealed) expect(after.at(-1)?.files).to.deep.equal(after.at(-2)?.files)
        git.fsck()
      },
    )
    await fc.assert(property, { numRuns: 8, endOnFailure: true, includeErrorInReport: true })
    await expectSound(grove.dataDir)
  })

  it('leaves repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
})

/** One act, which may be refused. */
async function perform({ path }: Proposal, name: string, a: number, b: number, n: number): Promise<void> {
  const [by, entry] = [[ann, bob, cy, di][a % 4] ?? ann, 1 + (b % 8)]
  const said = { text: `Secret ${n}` }
  pass(1)
  if (name === 'comment') await by.post(`${path}/comments`, said)
  if (name === 'answer') await by.post(`${path}/comments`, { ...said, thread: entry })
  if (name === 'edit') for (const one of [ann, bob, cy, di]) await one.patch(`${path}/comments/${entry}`, said)
  if (name === 'delete') await di.delete(`${path}/comments/${entry}`)
  if (name === 'resolve') await bob.patch(`${path}/threads/${entry}`, { resolved: a % 3 > 0 })
  if (name === 'retitle') await ann.patch(path, { title: `Title ${n}`, description: `Secret ${n}` })
  if (name === 'dismiss') await di.patch(`${path}/reviews/1`, { state: 'dismissed', reason: `Secret ${n}` })
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Files = Record<string, any> // the files of the ledger, each of its own shape

interface Version {
  readonly header: string
  readonly message: string
  readonly files: Files
}

/** Every commit of the ledger, read with native git: second parents, signatures, message and files. */
function history(dir: string): Version[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: dir, maxBuffer: 1e9 }).toString()
  return git('rev-list', '--first-parent', '--reverse', 'refs/grove/ledger')
    .trim()
    .split('\n')
    .map((oid) => {
      const [header = '', message = ''] = git('cat-file', 'commit', oid).split('\n\n')
      const paths = git('ls-tree', '-r', '--name-only', oid).trim().split('\n')
      const files = paths.map((path) => [path, JSON.parse(git('show', `${oid}:${path}`))])
      return { header: header.replace(/^tree .*\n(parent .*\n)?/, ''), message, files: Object.fromEntries(files) }
    })
}

/** The commit with its entry erased, or all of its pull request. */
function naivelyErased({ header, message, files }: Version, entry: number | undefined): Version {
  const erased = Object.entries(files).map(([path, json]) => {
    const isEntry = entry === undefined ? path.startsWith('reviews/') : path === `reviews/0/0/1/0/${entry}.json`
    if (isEntry && json.kind !== 'event') {
      const { mentions: _, dismissed, ...rest } = json
      return [path, { ...rest, text: '', ...(dismissed && { dismissed: { ...dismissed, reason: '' } }) }]
    }
    if (isEntry && json.changes) {
      const { title: _, description: __, ...changes } = json.changes
      return [path, { ...json, changes }]
    }
    if (entry === undefined && path.startsWith('pulls/')) return [path, { ...json, title: 'Erased', description: '' }]
    return [path, json]
  })
  return { header, message, files: Object.fromEntries(erased) }
}

/** Without the stamps of erasures. */
function unstamped(versions: readonly Version[]): Version[] {
  return versions.map((version) => ({
    ...version,
    files: Object.fromEntries(
      Object.entries(version.files).map(([path, json]) => {
        if (typeof json !== 'object') return [path, json]
        const { erased: _, ...rest } = json
        return [path, rest]
      }),
    ),
  }))
}
